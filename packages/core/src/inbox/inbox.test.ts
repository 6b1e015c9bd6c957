import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  databaseWithQueue,
  queuedJobs,
  nextInstant,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { createComment } from '../comments/index.ts';
import {
  findIssue,
  markAllRead,
  markIssueRead,
  markIssueUnread,
  snoozeIssue,
  announceSnoozeEnd,
} from '../issues/index.ts';
import { countWaiting, inboxReasons, readInbox } from './index.ts';

const { approvals, budget_incidents, budget_policies, issue_reads, issues, outbox } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const reader = actors.user(await createUser(database.db), { [company.id]: 'viewer' });
  const inbox = async (actor: Actor = reader) => readInbox(database.db, actor, company.id);
  const unread = async (actor?: Actor) => (await inbox(actor)).unread_issues.map(({ id }) => id);
  const read = async (issue: { id: string; company_id: string }) =>
    transaction(database, async (tx) => markIssueRead(tx, reader, issue));
  return { company, reader, inbox, unread, read };
}

describe('the inbox', () => {
  it('shows an issue until it was read, again after it changed, and only to whom it is unread', async () => {
    const { company, reader, inbox, unread, read } = await setUp();
    const issue = await createIssue(database.db, company, { body_markdown: 'All of it' });
    const other = actors.board(company, 'viewer');
    expect(await unread()).toEqual([issue.id]);
    expect((await inbox()).unread_issues).toMatchObject([{ id: issue.id, body_markdown: 'All of it' }]);
    await read(issue);
    expect([await unread(), await unread(other)]).toEqual([[], [issue.id]]);
    await database.db
      .update(issues)
      .set({ updated_at: sql`now() + interval '1 second'` })
      .where(eq(issues.id, issue.id));
    expect(await unread()).toEqual([issue.id]);
    await database.db.update(issues).set({ updated_at: issue.updated_at }).where(eq(issues.id, issue.id));
    await transaction(database, async (tx) => markIssueUnread(tx, reader, issue));
    expect(await unread()).toEqual([issue.id]);
  });

  it('shows an issue again that somebody else commented, not the reader himself', async () => {
    const { company, reader, unread, read } = await setUp();
    const issue = (await findIssue(database.db, (await createIssue(database.db, company)).id))!;
    await read(issue);
    const comment = async (actor: Actor) =>
      transaction(database, async (tx) => createComment(tx, actor, issue, { body_markdown: 'Hm' }));
    await comment(reader);
    expect(await unread()).toEqual([]);
    await nextInstant();
    await comment(actors.board(company));
    expect(await unread()).toEqual([issue.id]);
    await read(issue);
    expect(await unread()).toEqual([]);
  });

  it('gathers what asks for people: pending approvals, questions, circles, failures, open incidents', async () => {
    const { company, inbox } = await setUp();
    const asked = await createIssue(database.db, company, { awaiting_input: true, status: 'blocked' });
    const circling = await createIssue(database.db, company, { needs_human_attention: true });
    const failed = await createIssue(database.db, company, { run_failed: true, updated_at: new Date(0) });
    await createIssue(database.db, company, { run_failed: true, status: 'cancelled' });
    await createIssue(database.db, company, { awaiting_input: true, deleted_at: new Date() });
    const request = { company_id: company.id, type: 'plan', title: 'May I?' };
    const [open] = await database.db.insert(approvals).values(request).returning();
    await database.db.insert(approvals).values({ ...request, status: 'approved' });
    const [policy] = await database.db
      .insert(budget_policies)
      .values({
        company_id: company.id,
        scope_type: 'company',
        scope_id: company.id,
        window: 'day',
        limit_usd: '1',
        action: 'notify',
      })
      .returning();
    const incident = { company_id: company.id, policy_id: policy!.id, window_start: new Date() };
    const spent = { ...incident, spent_usd: '2', limit_usd: '1' };
    const [breach] = await database.db
      .insert(budget_incidents)
      .values({ ...spent, kind: 'breach' })
      .returning();
    await database.db.insert(budget_incidents).values({ ...spent, kind: 'warning', status: 'resolved' });

    const {
      approvals: waiting,
      awaiting_input,
      needs_attention,
      budget_incidents: incidents,
    } = await inbox();
    const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
    expect([ids(waiting), ids(awaiting_input), ids(needs_attention), ids(incidents)]).toEqual([
      [open!.id],
      [asked.id],
      [circling.id, failed.id],
      [breach!.id],
    ]);
  });

  it('leaves out what its reader has put off, until the time is over; others see it', async () => {
    const { company, reader, inbox, unread, read } = await setUp();
    const asked = await createIssue(database.db, company, { awaiting_input: true, status: 'blocked' });
    const snooze = async (minutes: number) =>
      transaction(database, async (tx) => snoozeIssue(tx, reader, asked, minutes));
    const waiting = async (actor: Actor = reader) =>
      (await countWaiting(database.db, actor, company.id)).inbox;
    expect(await waiting()).toBe(1);
    await snooze(60);
    const later = await inbox();
    expect([later.unread_issues, later.awaiting_input]).toEqual([[], []]);
    expect(later.snoozed_issues).toMatchObject([{ id: asked.id }]);
    const until = new Date(later.snoozed_issues[0]!.snoozed_until).getTime();
    expect(until).toBeGreaterThan(Date.now() + 59 * 60_000);
    expect([await waiting(), await waiting(actors.board(company))]).toEqual([0, 1]);
    const job = { issue_id: asked.id, reader_id: (reader as { user_id: string }).user_id };
    expect(await queuedJobs(database.db, 'wake-snoozed', job)).toHaveLength(1);

    const told = async () =>
      (await database.db.select().from(outbox).where(eq(outbox.company_id, company.id))).filter(
        ({ type }) => type === 'inbox_changed',
      ).length;
    const before = await told();
    const wake = async () =>
      transaction(database, async (tx) => announceSnoozeEnd(tx, job.issue_id, job.reader_id));
    await wake();
    expect(await told()).toBe(before);
    await database.db
      .update(issue_reads)
      .set({
        snoozed_until: sql`now() - interval '1 second'`,
        read_at: sql`now() - interval '1 hour'`,
      })
      .where(eq(issue_reads.issue_id, asked.id));
    await database.db
      .update(issues)
      .set({ updated_at: new Date(0) })
      .where(eq(issues.id, asked.id));
    expect([await unread(), await waiting()]).toEqual([[asked.id], 1]);
    await wake();
    expect(await told()).toBe(before + 1);
    await read(asked);
    expect(await unread()).toEqual([]);
  });

  it('brings back what was put off when something happens to it', async () => {
    const { company, reader, inbox, unread } = await setUp();
    const issue = (await findIssue(database.db, (await createIssue(database.db, company)).id))!;
    const snooze = async () => transaction(database, async (tx) => snoozeIssue(tx, reader, issue, 60));
    await snooze();
    expect(await unread()).toEqual([]);
    await nextInstant();
    await transaction(database, async (tx) =>
      createComment(tx, actors.board(company), issue, { body_markdown: 'Now' }),
    );
    expect(await unread()).toEqual([issue.id]);
    expect((await inbox()).snoozed_issues).toEqual([]);
    await snooze();
    await transaction(database, async (tx) => markIssueUnread(tx, reader, issue));
    expect(await unread()).toEqual([issue.id]);
  });

  it('is emptied of what is unread at once, in one company and for one reader', async () => {
    const { company, reader, unread } = await setUp();
    const elsewhere = await setUp();
    await createIssue(database.db, company);
    await createIssue(database.db, company);
    const foreign = await createIssue(database.db, elsewhere.company);
    await transaction(database, async (tx) => markAllRead(tx, reader, company.id));
    expect(await unread()).toEqual([]);
    expect(await unread(actors.board(company))).toHaveLength(2);
    expect(await elsewhere.unread()).toEqual([foreign.id]);
  });

  it('says what was said last on an issue, and who works on it; of another company nothing', async () => {
    const { company } = await setUp();
    const worker = await createAgent(database.db, company, { name: 'Ada' });
    const row = await createIssue(database.db, company, { assignee_agent_id: worker.id });
    const issue = (await findIssue(database.db, row.id))!;
    const say = async (body_markdown: string) =>
      transaction(database, async (tx) => createComment(tx, actors.board(company), issue, { body_markdown }));
    await say('First');
    await nextInstant();
    await say('x'.repeat(1000));
    const reason = (await inboxReasons(database.db, company.id, [issue.id])).get(issue.id);
    expect(reason).toMatchObject({ assignee_name: 'Ada', said: 'x'.repeat(400) });
    expect((await inboxReasons(database.db, worker.id, [issue.id])).size).toBe(0);
  });

  it('is for people: an agent has none', async () => {
    const { company } = await setUp();
    const issue = await createIssue(database.db, company);
    await expect(
      transaction(database, async (tx) => markIssueRead(tx, actors.system, issue)),
    ).rejects.toMatchObject({ kind: 'forbidden' });
  });
});
