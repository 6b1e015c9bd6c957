import { beforeAll, describe, expect, it } from '@jest/globals';
import type { CreateIssue } from '@acp/contract';
import { type Database, openDatabase, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, createAgent, createCompany, createIssue as issueRow, databaseWithQueue } from '@acp/testkit';
import { queuedJobs, testDatabase } from '@acp/testkit';
import { and, eq, sql } from 'drizzle-orm';
import { createIssue, findIssue, issueDetail, resolveIssueRef } from './index.ts';

let database: Database;
let url: string;
beforeAll(async () => {
  database = await databaseWithQueue();
  ({ url } = await testDatabase());
});

async function stage() {
  const company = await createCompany(database.db, { slug: `abc-${newId().slice(0, 8)}` });
  const agent = await createAgent(database.db, company, { name: 'Ada' });
  return { company, agent, human: actors.board(company) };
}
type Stage = Awaited<ReturnType<typeof stage>>;

const create = async (s: Stage, input: CreateIssue, actor: Parameters<typeof createIssue>[1] = s.human) =>
  transaction(database, (tx) => createIssue(tx, actor, s.company.id, input));

const wakeups = async (agent: { id: string }) =>
  database.db.select().from(schema.wakeup_requests).where(eq(schema.wakeup_requests.agent_id, agent.id));

const values = (company: { id: string }) => ({ company_id: company.id, name: 'X', title: 'X' });

describe('createIssue', () => {
  it('with a title alone makes a todo of medium priority with the first number, and wakes nobody', async () => {
    const s = await stage();
    expect(await create(s, { title: 'Build it' })).toMatchObject({
      company_id: s.company.id,
      title: 'Build it',
      status: 'todo',
      priority: 'medium',
      identifier: 'ABC-1',
      issue_number: 1,
      origin_kind: 'manual',
      assignee_agent_id: null,
      created_at: expect.any(Date),
    });
    expect(await wakeups(s.agent)).toEqual([]);
  });

  it('with an assignee wakes it by a job in the same transaction, within eight statements, key look-up included', async () => {
    const s = await stage();
    const before = database.statements();
    const issue = await create(s, { title: 'Build it', assignee_agent_id: s.agent.id });
    // The key look-up is the only statement not sent here; the company's scope costs none.
    expect(database.statements() - before).toBeLessThanOrEqual(7);
    expect(await wakeups(s.agent)).toMatchObject([
      { issue_id: issue.id, reason: 'assignment', status: 'pending' },
    ]);
    expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: s.agent.id })).toHaveLength(1);
  });

  it('in the backlog leaves the assignee asleep', async () => {
    const s = await stage();
    await create(s, { title: 'Later', status: 'backlog', assignee_agent_id: s.agent.id });
    expect(await wakeups(s.agent)).toEqual([]);
  });

  it('leaves activity and an event that carries no body', async () => {
    const s = await stage();
    const issue = await create(s, { title: 'Build it', body_markdown: 'long text', status: 'blocked' });
    const [entry] = await database.db
      .select()
      .from(schema.activity)
      .where(eq(schema.activity.entity_id, issue.id));
    expect(entry).toMatchObject({ action: 'issue.created', actor_type: 'board_user' });
    const [event] = await database.db
      .select()
      .from(schema.outbox)
      .where(eq(schema.outbox.company_id, s.company.id));
    expect(event).toMatchObject({ type: 'issue_created', data: { id: issue.id, title: 'Build it' } });
    expect(event?.data).not.toHaveProperty('body_markdown');
    expect(issue.blocked_at).toBeInstanceOf(Date);
  });

  it.each([
    ['assignee_agent_id', 'assignee_agent_id: unknown agent'],
    ['project_id', 'project_id: unknown project'],
    ['goal_id', 'goal_id: unknown goal'],
    ['parent_issue_id', 'parent_issue_id: unknown issue'],
  ])('with another company’s or a trashed %s is invalid, and makes no issue', async (field, message) => {
    const [s, other] = [await stage(), await stage()];
    const gone = { deleted_at: new Date() };
    const make: Record<string, (company: { id: string }, extra: object) => Promise<{ id: string }[]>> = {
      assignee_agent_id: async (company, extra) => [await createAgent(database.db, company, extra)],
      parent_issue_id: async (company, extra) => [await issueRow(database.db, company, extra)],
      project_id: (company, extra) =>
        database.db
          .insert(schema.projects)
          .values({ ...values(company), ...extra })
          .returning(),
      goal_id: (company, extra) =>
        database.db
          .insert(schema.goals)
          .values({ ...values(company), ...extra })
          .returning(),
    };
    const [foreign] = await make[field]!(other.company, {});
    const [trashed] = await make[field]!(s.company, gone);
    const [known] = await make[field]!(s.company, {});
    const first = await create(s, { title: 'first' });
    for (const id of [foreign!.id, trashed!.id, newId()])
      await expect(create(s, { title: 'X', [field]: id })).rejects.toMatchObject({
        kind: 'invalid',
        message,
      });
    const issue = await create(s, { title: 'X', [field]: known!.id });
    expect(issue).toMatchObject({ [field]: known!.id, issue_number: first.issue_number + 4 });
    const ofCompany = eq(schema.issues.company_id, s.company.id);
    expect(await database.db.$count(schema.issues, and(ofCompany, eq(schema.issues.title, 'X')))).toBe(1);
  });

  it('by an agent that may not assign is forbidden with an assignee and allowed without', async () => {
    const s = await stage();
    const actor = actors.agent({ ...s.agent, permissions: { 'issues.assign': false } });
    await expect(create(s, { title: 'X', assignee_agent_id: s.agent.id }, actor)).rejects.toMatchObject({
      kind: 'forbidden',
    });
    expect(await create(s, { title: 'X' }, actor)).toMatchObject({ origin_kind: 'agent' });
  });

  it('by an agent for itself does not wake it', async () => {
    const s = await stage();
    await create(s, { title: 'X', assignee_agent_id: s.agent.id }, actors.agent(s.agent));
    expect(await wakeups(s.agent)).toEqual([]);
  });

  it('in a trashed company is not found', async () => {
    const s = await stage();
    await database.db
      .update(schema.companies)
      .set({ deleted_at: new Date() })
      .where(eq(schema.companies.id, s.company.id));
    await expect(create(s, { title: 'X' })).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('fifty times at once, some rolled back, numbers the rest, each by its own', async () => {
    const s = await stage();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, async (_, index) =>
        transaction(database, async (tx) => {
          const issue = await createIssue(tx, s.human, s.company.id, { title: `Issue ${index}` });
          if (index % 10 === 3) throw new Error('rolled back');
          return issue.issue_number;
        }),
      ),
    );
    const numbers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    expect(new Set(numbers).size).toBe(45);
    expect(Math.max(...numbers)).toBeLessThanOrEqual(50);
  });

  it('with a number that a crashed server forgot it had given is unavailable; the next attempt has the next number', async () => {
    const s = await stage();
    for (const title of ['one', 'two']) await create(s, { title });
    await database.db.execute(sql`update issue_counters set next = 2 where company_id = ${s.company.id}`);
    await expect(create(s, { title: 'three' })).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'database unavailable',
      retry_after_sec: 2,
    });
    expect(await create(s, { title: 'three' })).toMatchObject({ issue_number: 3 });
  });

  it('by several processes: whoever comes later has the higher number', async () => {
    const s = await stage();
    const other = openDatabase({ url, max: 2, application_name: 'other' });
    const numbers: number[] = [];
    for (const each of [database, other, database, other]) {
      const two = await Promise.all(
        ['one', 'two'].map(async (title) =>
          transaction(each, async (tx) => createIssue(tx, s.human, s.company.id, { title })),
        ),
      );
      numbers.push(...two.map(({ issue_number }) => issue_number).toSorted((a, b) => a - b));
    }
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    await other.close();
  });

  it('while another one is not committed yet, nor a lock on the company let go: waits for neither', async () => {
    const s = await stage();
    await transaction(database, async (tx) => {
      await tx.execute(sql`select from companies where id = ${s.company.id} for no key update`);
      const slow = await createIssue(tx, s.human, s.company.id, { title: 'slow' });
      expect(await create(s, { title: 'quick' })).toMatchObject({ issue_number: slow.issue_number + 1 });
    });
  });

  it('in a company of its own transaction is its first', async () => {
    const made = await transaction(database, async (tx) => {
      const company = await createCompany(tx);
      const actor = actors.board(company);
      return Promise.all(['one', 'two'].map(async (title) => createIssue(tx, actor, company.id, { title })));
    });
    expect(made.map(({ issue_number }) => issue_number).toSorted((a, b) => a - b)).toEqual([1, 2]);
  });

  it('beside a process of the release before: one counter gives to both', async () => {
    const s = await stage();
    const old = async () => {
      const { rows } = await database.db.execute<{ number: number }>(sql`
        update companies set next_issue_number = next_issue_number + 1 where id = ${s.company.id}
        returning next_issue_number - 1 as number`);
      return rows[0]!.number;
    };
    const now = async () => (await create(s, { title: 'new' })).issue_number;
    expect([await old(), await now(), await now(), await old(), await now()]).toEqual([1, 2, 3, 4, 5]);
  });
});

describe('findIssue', () => {
  it('finds neither a trashed issue nor one below it, nor one of a trashed company', async () => {
    const s = await stage();
    const parent = await create(s, { title: 'parent' });
    const child = await create(s, { title: 'child', parent_issue_id: parent.id });
    const grandchild = await create(s, { title: 'grandchild', parent_issue_id: child.id });
    expect(await findIssue(database.db, grandchild.id)).toMatchObject({ title: 'grandchild' });
    const trash = async (deleted_at: Date | null) =>
      database.db.update(schema.issues).set({ deleted_at }).where(eq(schema.issues.id, parent.id));
    await trash(new Date());
    for (const { id } of [parent, child, grandchild])
      expect(await findIssue(database.db, id)).toBeUndefined();
    await trash(null);
    expect(await findIssue(database.db, grandchild.id)).toBeDefined();
    await database.db
      .update(schema.companies)
      .set({ deleted_at: new Date() })
      .where(eq(schema.companies.id, s.company.id));
    expect(await findIssue(database.db, parent.id)).toBeUndefined();
    expect(await findIssue(database.db, 'no-uuid')).toBeUndefined();
  });

  it('resolves a UUID or an identifier in any case within the company only', async () => {
    const [s, other] = [await stage(), await stage()];
    const issue = await create(s, { title: 'X' });
    for (const ref of [issue.id, 'ABC-1', ' abc-1 '])
      expect(await resolveIssueRef(database.db, s.company.id, ref)).toMatchObject({ id: issue.id });
    for (const ref of ['ABC-2', 'XYZ-1', 'ABC-01', 'ABC', '', 'ABC-99999999999'])
      expect(await resolveIssueRef(database.db, s.company.id, ref)).toBeUndefined();
    expect(await resolveIssueRef(database.db, other.company.id, issue.id)).toBeUndefined();
  });
});

describe('issueDetail', () => {
  it('has ancestors nearest first, labels by name and the number of comments, in one statement', async () => {
    const s = await stage();
    const top = await create(s, { title: 'top' });
    const middle = await create(s, { title: 'middle', parent_issue_id: top.id });
    const leaf = await create(s, { title: 'leaf', parent_issue_id: middle.id });
    const labels = await database.db
      .insert(schema.labels)
      .values(['zeta', 'Alpha'].map((name) => ({ company_id: s.company.id, name })))
      .returning();
    await database.db
      .insert(schema.issue_labels)
      .values(labels.map((label) => ({ issue_id: leaf.id, label_id: label.id })));
    await database.db
      .insert(schema.comments)
      .values(
        ['a', 'b'].map((text) => ({ company_id: s.company.id, issue_id: leaf.id, body_markdown: text })),
      );
    const row = await findIssue(database.db, leaf.id);
    const before = database.statements();
    const detail = await issueDetail(database.db, row!);
    expect(database.statements() - before).toBe(1);
    expect(detail.ancestors).toEqual([
      { id: middle.id, identifier: 'ABC-2', title: 'middle', status: 'todo' },
      { id: top.id, identifier: 'ABC-1', title: 'top', status: 'todo' },
    ]);
    expect(detail.labels.map((label) => label.name)).toEqual(['Alpha', 'zeta']);
    expect(detail.labels[0]?.created_at).toEqual(labels[1]?.created_at);
    expect(detail.comment_count).toBe(2);
    const bare = await issueDetail(database.db, (await findIssue(database.db, top.id))!);
    expect(bare).toMatchObject({ ancestors: [], labels: [], comment_count: 0 });
  });
});
