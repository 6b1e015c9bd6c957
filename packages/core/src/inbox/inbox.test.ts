import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createCompany, createIssue, createUser, databaseWithQueue } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { createComment } from '../comments/index.ts';
import { findIssue, markIssueRead, markIssueUnread } from '../issues/index.ts';
import { readInbox } from './index.ts';

const { approvals, budget_incidents, budget_policies, issues } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const reader = actors.user(await createUser(database.db), { [company.id]: 'viewer' });
  const inbox = async (actor: Actor = reader) => readInbox(database.db, actor, company.id);
  const unread = async (actor?: Actor) => (await inbox(actor)).unread_issues.map(({ id }) => id);
  const read = async (issue: { id: string }) =>
    transaction(database, async (tx) => markIssueRead(tx, reader, issue));
  return { company, reader, inbox, unread, read };
}

describe('the inbox', () => {
  it('shows an issue until it was read, again after it changed, and only to whom it is unread', async () => {
    const { company, reader, unread, read } = await setUp();
    const issue = await createIssue(database.db, company);
    const other = actors.board(company, 'viewer');
    expect(await unread()).toEqual([issue.id]);
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
    await comment(actors.board(company));
    expect(await unread()).toEqual([issue.id]);
    await read(issue);
    expect(await unread()).toEqual([]);
  });

  it('gathers what asks for people: pending approvals, questions, circles, open incidents', async () => {
    const { company, inbox } = await setUp();
    const asked = await createIssue(database.db, company, { awaiting_input: true, status: 'blocked' });
    const circling = await createIssue(database.db, company, { needs_human_attention: true });
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
      [circling.id],
      [breach!.id],
    ]);
  });

  it('is for people: an agent has none', async () => {
    const { company } = await setUp();
    const issue = await createIssue(database.db, company);
    await expect(
      transaction(database, async (tx) => markIssueRead(tx, actors.system, issue)),
    ).rejects.toMatchObject({ kind: 'forbidden' });
  });
});
