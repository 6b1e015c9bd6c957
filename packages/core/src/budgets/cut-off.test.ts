/** Work that a budget cut off in the middle. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { openQueue, type Queue } from '@acp/queue';
import { actors, cloneDatabase, createAgent, createCompany, createIssue, queuedJobs } from '@acp/testkit';
import { and, eq, sql } from 'drizzle-orm';
import { claimRun, createProject, finishRun, triggerIssue, updateIssue, findIssue } from '../index.ts';
import {
  createBudgetPolicy,
  deleteBudgetPolicy,
  findBudgetIncident,
  findBudgetPolicy,
  listBudgetIncidents,
  resolveBudgetIncident,
  rollOverBudgets,
  settleBudgets,
  updateBudgetPolicy,
} from './index.ts';

const { agents, agent_runtime_states, wakeup_requests } = schema;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  ({ database } = await cloneDatabase('cut_off'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());
beforeEach(async () => {
  await database.db.execute(sql`delete from heartbeat_runs`);
});

const act = async <T>(work: (tx: Tx) => Promise<T>) => transaction(database, work);

/** A run on an issue that spends the budget of its agent, or its project, after it has changed something. */
async function cutOff(scope: 'agent' | 'project' = 'agent') {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const admin = actors.board(company, 'admin');
  const project = await act(async (tx) => createProject(tx, admin, company.id, { name: 'P' }));
  const issue = await createIssue(database.db, company, {
    assignee_agent_id: agent.id,
    project_id: project.id,
  });
  const policy = await act(async (tx) => {
    const made = await createBudgetPolicy(tx, admin, company.id, {
      scope_type: scope,
      scope_id: scope === 'agent' ? agent.id : project.id,
      window: 'day',
      limit_usd: 1,
      action: 'pause',
    });
    return (await findBudgetPolicy(tx, made.id))!;
  });
  await act(async (tx) => triggerIssue(tx, admin, (await findIssue(tx, issue.id))!));
  const run = (await act(async (tx) => claimRun(tx, { claimed_by: 's', lease_sec: 30 })))!;
  const settle = async () => act(async (tx) => settleBudgets(tx, company.id));
  const end = async () => {
    const failure = { category: 'budget', message: 'budget exceeded' };
    const usage = {
      provider: 'elsewhere',
      model: 'big',
      input_tokens: 1,
      output_tokens: 1,
      cached_tokens: 0,
      usage_missing: false,
      price_estimated: false,
      cost_usd: '1.5',
    };
    await act(async (tx) => finishRun(tx, run, { failure, text: null, usage, changed: true }));
  };
  const breach = async () => {
    const { items } = await listBudgetIncidents(database.db, company.id, { status: 'open' });
    return (await findBudgetIncident(database.db, items[0]!.id))!;
  };
  const woken = async () =>
    database.db
      .select({ issue_id: wakeup_requests.issue_id, reason: wakeup_requests.reason })
      .from(wakeup_requests)
      .where(and(eq(wakeup_requests.agent_id, agent.id), eq(wakeup_requests.status, 'pending')));
  const state = async () => {
    const [row] = await database.db
      .select({ status: agents.status, last_error: agent_runtime_states.last_error })
      .from(agents)
      .innerJoin(agent_runtime_states, eq(agent_runtime_states.agent_id, agents.id))
      .where(eq(agents.id, agent.id));
    return row!;
  };
  return { company, agent, admin, issue, policy, settle, end, breach, woken, state };
}
type Scene = Awaited<ReturnType<typeof cutOff>>;

const ways: Record<string, (scene: Scene) => Promise<unknown>> = {
  'it is waived': async ({ admin, breach }) => {
    const incident = await breach();
    return act(async (tx) => resolveBudgetIncident(tx, admin, incident));
  },
  'its limit is raised': async ({ admin, policy }) =>
    act(async (tx) => updateBudgetPolicy(tx, admin, policy, { limit_usd: 5 })),
  'its budget is deleted': async ({ admin, policy }) =>
    act(async (tx) => deleteBudgetPolicy(tx, admin, policy)),
  'its window is over': async () => {
    for (const table of ['budget_incidents', 'budget_windows'])
      await database.db.execute(
        sql`update ${sql.identifier(table)} set window_start = window_start - interval '1 day'`,
      );
    return act(rollOverBudgets);
  },
};

describe('work that a breach cut off', () => {
  it.each(Object.keys(ways))('continues once %s', async (way) => {
    const scene = await cutOff();
    const { issue, settle, end, woken, state } = scene;
    await end();
    await settle();
    expect(await woken()).toEqual([]);
    expect(await state()).toEqual({ status: 'paused', last_error: 'budget exceeded' });
    await ways[way]!(scene);
    await settle();
    expect(await woken()).toEqual([{ issue_id: issue.id, reason: 'unblocked' }]);
    expect(await state()).toEqual({ status: 'idle', last_error: null });
    await settle();
    expect(await woken()).toHaveLength(1);
  });

  it('by the budget of a project continues too, and its agent is no longer in error', async () => {
    const scene = await cutOff('project');
    await scene.end();
    await scene.settle();
    expect(await scene.state()).toEqual({ status: 'error', last_error: 'budget exceeded' });
    await ways['it is waived']!(scene);
    await scene.settle();
    expect(await scene.woken()).toMatchObject([{ issue_id: scene.issue.id }]);
    expect(await scene.state()).toEqual({ status: 'idle', last_error: null });
  });

  it.each([{ status: 'done' as const }, { assignee_agent_id: null }])(
    'stays as it is if it has become %j',
    async (change) => {
      const scene = await cutOff();
      const { admin, issue, settle, end, woken } = scene;
      await end();
      await act(async (tx) => updateIssue(tx, admin, (await findIssue(tx, issue.id))!, change));
      await ways['it is waived']!(scene);
      await settle();
      expect(await woken()).toEqual([]);
    },
  );

  it('whose run ends only after the breach has its budgets settled again', async () => {
    const { company, end } = await cutOff();
    const jobs = async () => queuedJobs(database.db, 'settle-budgets', { company_id: company.id });
    const before = (await jobs()).length;
    await end();
    // The breach and the run request the same one.
    expect(await jobs()).toHaveLength(before + 1);
  });
});
