import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import {
  actors,
  createCompany,
  createIssue,
  createUser,
  databaseWithQueue,
  nextInstant,
  queuedJobs,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { countWaiting, readInbox } from '../inbox/index.ts';
import {
  announceApprovalSnoozeEnds,
  createApproval,
  createApprovalComment,
  findApproval,
  openApprovalsOf,
  reject,
  requestRevision,
  resubmitApproval,
  snoozeApproval,
  snoozesOf,
  unsnoozeApproval,
} from './index.ts';

const { approval_snoozes, approvals, outbox } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const user = await createUser(database.db);
  const reader = actors.user(user, { [company.id]: 'member' });
  const other = actors.user(await createUser(database.db), { [company.id]: 'member' });
  const { id } = await transaction(database, async (tx) =>
    createApproval(tx, other, company.id, { type: 'plan', title: 'Paint it green' }),
  );
  const approval = async () => (await findApproval(database.db, id))!;
  const snooze = async (minutes = 60, actor: Actor = reader) =>
    transaction(database, async (tx) => snoozeApproval(tx, actor, await approval(), minutes));
  /** What waits, what is put off, and the two numbers on every page. */
  const shown = async (actor: Actor = reader) => {
    const inbox = await readInbox(database.db, actor, company.id);
    const waiting = await countWaiting(database.db, actor, company.id);
    return [inbox.approvals.length, inbox.snoozed_approvals.length, waiting.approvals, waiting.inbox];
  };
  const told = async () =>
    (await database.db.select().from(outbox).where(eq(outbox.company_id, company.id))).filter(
      ({ type }) => type === 'inbox_changed',
    ).length;
  const rows = async () =>
    database.db.select().from(approval_snoozes).where(eq(approval_snoozes.approval_id, id));
  return { company, reader, reader_id: user.id, other, id, approval, snooze, shown, told, rows };
}

const WAITS = [1, 0, 1, 1];
const PUT_OFF = [0, 1, 0, 0];

describe('an approval that is put off', () => {
  it('leaves the inbox and the numbers of the one who did it, and nobody else’s', async () => {
    const { reader, reader_id, other, id, approval, snooze, shown } = await setUp();
    expect(await shown()).toEqual(WAITS);
    await snooze(90);
    expect([await shown(), await shown(other)]).toEqual([PUT_OFF, WAITS]);
    const until = (await snoozesOf(database.db, reader, [await approval()])).get(id)!.getTime();
    expect(Math.abs(until - Date.now() - 90 * 60_000)).toBeLessThan(60_000);
    expect((await snoozesOf(database.db, other, [await approval()])).size).toBe(0);
    expect(await queuedJobs(database.db, 'wake-snoozed', { approval_id: id, reader_id })).toHaveLength(1);
    await transaction(database, async (tx) => unsnoozeApproval(tx, reader, await approval()));
    expect(await shown()).toEqual(WAITS);
  });

  it('comes back at its time, and leaves no row', async () => {
    const { reader_id, id, snooze, shown, told, rows } = await setUp();
    await snooze();
    const wake = async () => transaction(database, async (tx) => announceApprovalSnoozeEnds(tx, reader_id));
    const before = await told();
    await wake();
    expect([await told(), await shown()]).toEqual([before, PUT_OFF]);
    await database.db
      .update(approval_snoozes)
      .set({ snoozed_until: sql`now() - interval '1 second'` })
      .where(eq(approval_snoozes.approval_id, id));
    expect(await shown()).toEqual(WAITS);
    await wake();
    await wake();
    expect([await told(), await rows()]).toEqual([before + 1, []]);
  });

  it('comes back with whatever else is over by then, in whichever company', async () => {
    const [first, second] = [await setUp(), await setUp()];
    for (const { snooze } of [first, second]) await snooze(60, first.reader);
    await database.db
      .update(approval_snoozes)
      .set({ snoozed_until: sql`now() - interval '1 second'` })
      .where(eq(approval_snoozes.reader_id, first.reader_id));
    const before = [await first.told(), await second.told()];
    for (const _ of [first, second])
      await transaction(database, async (tx) => announceApprovalSnoozeEnds(tx, first.reader_id));
    expect([await first.told(), await second.told()]).toEqual(before.map((told) => told + 1));
  });

  it('comes back when somebody else comments, not after the reader’s own comment', async () => {
    const { reader, other, approval, snooze, shown } = await setUp();
    const comment = async (actor: Actor) =>
      transaction(database, async (tx) =>
        createApprovalComment(tx, actor, await approval(), { body_markdown: 'Hm' }),
      );
    await comment(other);
    await nextInstant();
    await snooze();
    await nextInstant();
    await comment(reader);
    expect(await shown()).toEqual(PUT_OFF);
    await comment(other);
    expect(await shown()).toEqual(WAITS);
  });

  it('comes back as a new version, and is gone once it is decided', async () => {
    const { reader, other, approval, snooze, shown } = await setUp();
    await snooze();
    await nextInstant();
    await transaction(database, async (tx) =>
      requestRevision(tx, reader, await approval(), { note: 'How much?' }),
    );
    expect(await shown()).toEqual([0, 0, 0, 0]);
    await expect(snooze()).rejects.toMatchObject({ kind: 'conflict' });
    await transaction(database, async (tx) =>
      resubmitApproval(tx, other, await approval(), { description: '20 USD' }),
    );
    expect(await shown()).toEqual(WAITS);
    await nextInstant();
    await snooze();
    await transaction(database, async (tx) => reject(tx, reader, await approval(), { note: 'No' }));
    expect(await shown()).toEqual([0, 0, 0, 0]);
  });

  it('is for people: an agent cannot', async () => {
    const { snooze, rows } = await setUp();
    await expect(snooze(60, actors.system)).rejects.toMatchObject({ kind: 'forbidden' });
    expect(await rows()).toEqual([]);
  });
});

it('long ones fill an inbox, what was put off, and an issue’s page, up to what one response may carry', async () => {
  const company = await createCompany(database.db);
  const { id: issue_id } = await createIssue(database.db, company);
  const user = await createUser(database.db);
  const reader = actors.user(user, { [company.id]: 'member' });
  const ids = async () =>
    (await database.db.select().from(approvals).where(eq(approvals.company_id, company.id))).map(
      ({ id }) => id,
    );
  await database.db.execute(sql`
    insert into approvals (company_id, issue_id, type, title, description)
    select ${company.id}::uuid, ${issue_id}::uuid, 'plan', 'P ' || n, repeat('x', 1000000) from generate_series(1, 9) n`);
  const read = async () => readInbox(database.db, reader, company.id);
  expect((await read()).approvals).toHaveLength(5);
  expect(await openApprovalsOf(database.db, issue_id)).toHaveLength(5);
  expect((await countWaiting(database.db, reader, company.id)).approvals).toBe(9);
  for (const id of await ids())
    await transaction(database, async (tx) => snoozeApproval(tx, reader, (await findApproval(tx, id))!, 60));
  expect((await read()).snoozed_approvals).toHaveLength(5);
});
