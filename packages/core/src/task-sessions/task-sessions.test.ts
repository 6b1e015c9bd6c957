import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, createAgent, createCompany, createIssue, databaseWithQueue } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  createTaskSession,
  findTaskSession,
  listTaskSessions,
  taskSessionKept,
  updateTaskSession,
} from './index.ts';

const { heartbeat_runs } = schema;
let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const issue = await createIssue(database.db, company);
  const human = actors.board(company, 'member');
  const within = async <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(database, work);
  const open = async (
    input: { issue_id: string; run_id?: string },
    actor: Parameters<typeof createTaskSession>[1] = human,
  ) => within((tx) => createTaskSession(tx, actor, agent, input));
  const run = async () => {
    const [row] = await database.db
      .insert(heartbeat_runs)
      .values({
        company_id: company.id,
        agent_id: agent.id,
        issue_id: issue.id,
        status: 'succeeded',
        wake_reason: 'manual',
        adapter_type: 'llm',
      })
      .returning();
    return row!;
  };
  const list = async () => (await listTaskSessions(database.db, agent, {})).items;
  const change = async (
    id: string,
    input: Parameters<typeof updateTaskSession>[3],
    actor: Parameters<typeof updateTaskSession>[1] = human,
  ) => within(async (tx) => updateTaskSession(tx, actor, (await findTaskSession(tx, id))!, input));
  return { company, agent, issue, human, within, open, run, list, change };
}

describe('a task session', () => {
  it('is opened once for an agent and an issue, and moved to a status in any order', async () => {
    const s = await setUp();
    const first = await s.open({ issue_id: s.issue.id });
    expect(first).toMatchObject({ agent_id: s.agent.id, status: 'active', run_id: null, summary: null });
    const { id: run_id } = await s.run();
    expect(await s.open({ issue_id: s.issue.id, run_id })).toMatchObject({ id: first.id, run_id });
    expect(await s.change(first.id, { status: 'completed', summary: 'All sold.' })).toMatchObject({
      status: 'completed',
      summary: 'All sold.',
      run_id,
    });
    const second = await s.open({ issue_id: s.issue.id });
    expect(second.id).not.toBe(first.id);
    await expect(s.change(first.id, { status: 'active' })).rejects.toMatchObject({ kind: 'conflict' });
    await s.change(second.id, { status: 'abandoned' });
    expect(await s.change(first.id, { status: 'active', summary: null })).toMatchObject({ summary: null });
    expect(await s.list()).toHaveLength(2);
  });

  it('is of the company’s issues and the agent’s runs, and another agent’s to nobody but people', async () => {
    const [s, other] = [await setUp(), await setUp()];
    await expect(s.open({ issue_id: other.issue.id })).rejects.toMatchObject({ message: 'unknown issue' });
    await expect(s.open({ issue_id: s.issue.id, run_id: newId() })).rejects.toMatchObject({
      message: 'unknown run',
    });
    const colleague = actors.agent(await createAgent(database.db, s.company));
    await expect(s.open({ issue_id: s.issue.id }, colleague)).rejects.toMatchObject({ kind: 'forbidden' });
    const own = await s.open({ issue_id: s.issue.id }, actors.agent(s.agent));
    await expect(s.change(own.id, { status: 'completed' }, colleague)).rejects.toMatchObject({
      kind: 'forbidden',
    });
    await database.db
      .update(schema.agents)
      .set({ deleted_at: new Date() })
      .where(eq(schema.agents.id, s.agent.id));
    expect(await findTaskSession(database.db, own.id)).toBeUndefined();
  });

  it('is not kept for ever, whoever opens the next: of those that ended, fifty are', async () => {
    const s = await setUp();
    const ended = {
      company_id: s.company.id,
      agent_id: s.agent.id,
      issue_id: s.issue.id,
      status: 'completed',
    };
    const rows = Array.from({ length: 60 }, (_, n) => ({
      ...ended,
      created_at: new Date(n * 1000),
      summary: `${n}`,
    }));
    const kept = async () => {
      const all = await database.db
        .select()
        .from(schema.task_sessions)
        .where(eq(schema.task_sessions.issue_id, s.issue.id));
      return all
        .filter(({ status }) => status !== 'active')
        .map(({ summary }) => Number(summary))
        .toSorted((a, b) => a - b);
    };
    await database.db.insert(schema.task_sessions).values(rows);
    const end = async (status: string) => {
      const run = { ...(await s.run()), summary: null };
      await s.within((tx) => tx.execute(sql`with ${taskSessionKept(run, { status })!} select 1`));
    };
    await end('in_progress');
    expect([(await kept()).length, (await kept())[0]]).toEqual([50, 10]);
    // The run goes on with the session that is there: nothing is opened, nothing looked for.
    await database.db.insert(schema.task_sessions).values({ ...ended, summary: '99' });
    await end('in_progress');
    expect(await kept()).toHaveLength(51);
  });

  it('is kept by the runs: it goes on with the last one, and ends with the issue', async () => {
    const s = await setUp();
    const end = async (status: string, summary: string | null) => {
      const run = await s.run();
      await s.within((tx) =>
        tx.execute(sql`with ${taskSessionKept({ ...run, summary }, { status })!} select 1`),
      );
      return run.id;
    };
    await end('in_progress', 'Half of it.');
    const second = await end('in_progress', null);
    expect(await s.list()).toMatchObject([{ status: 'active', run_id: second, summary: 'Half of it.' }]);
    const last = await end('done', 'All of it.');
    expect(await s.list()).toMatchObject([{ status: 'completed', run_id: last, summary: 'All of it.' }]);
    // The issue was reopened and cancelled within one run.
    await end('cancelled', 'Not worth it.');
    expect((await s.list()).map(({ status }) => status).toSorted()).toEqual(['abandoned', 'completed']);
  });
});
