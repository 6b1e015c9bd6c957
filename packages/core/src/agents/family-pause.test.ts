import { beforeAll, expect, it } from '@jest/globals';
import { type Database, transaction, type Tx } from '@acp/db';
import { actors, createAgent, createCompany, databaseWithQueue, queuedJobs } from '@acp/testkit';
import {
  createBudgetPolicy,
  findAgent,
  findBudgetPolicy,
  pauseAgent,
  reportCost,
  resumeAgent,
  settleBudgets,
  sweepBudgets,
  updateBudgetPolicy,
} from '../index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

/** An agent with a sub-agent, and a budget of one of them or of all. */
async function family(scope: 'company' | 'agent') {
  const company = await createCompany(database.db);
  const parent = await createAgent(database.db, company);
  const of = { parent_agent_id: parent.id, ancestor_ids: [parent.id], subagent_depth: 1 };
  const child = await createAgent(database.db, company, of);
  const below = { parent_agent_id: child.id, ancestor_ids: [parent.id, child.id], subagent_depth: 2 };
  const grandchild = await createAgent(database.db, company, below);
  const admin = actors.board(company, 'admin');
  const act = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transaction(database, work);
  const settle = async () => act(async (tx) => settleBudgets(tx, company.id));
  const policy = await act(async (tx) =>
    createBudgetPolicy(tx, admin, company.id, {
      scope_type: scope,
      ...(scope === 'agent' ? { scope_id: child.id } : {}),
      window: 'lifetime',
      limit_usd: 1,
      action: 'pause',
    }),
  );
  const breach = async () => {
    const cost = { agent_id: child.id, provider: 'p', model: 'm', cost_usd: 2 };
    await act(async (tx) => reportCost(tx, admin, company.id, cost));
    await settle();
  };
  const raise = async () => {
    const found = (await findBudgetPolicy(database.db, policy.id))!;
    await act(async (tx) => updateBudgetPolicy(tx, admin, found, { limit_usd: 10 }));
    await settle();
  };
  const byHand = async (change: typeof pauseAgent | typeof resumeAgent) => {
    const found = (await findAgent(database.db, parent.id))!;
    await act(async (tx) => change(tx, admin, found));
  };
  const statuses = async () =>
    Promise.all(
      [parent, child, grandchild].map(async ({ id }) => (await findAgent(database.db, id))!.status),
    );
  return { company, child, grandchild, act, breach, raise, byHand, statuses };
}

it('sub-agents that were paused with their agent continue once their own budget has money again', async () => {
  const { child, grandchild, breach, raise, byHand, statuses } = await family('agent');
  await byHand(pauseAgent);
  await breach();
  await byHand(resumeAgent);
  expect(await statuses()).toEqual(['idle', 'paused', 'paused']);
  await raise();
  expect(await statuses()).toEqual(['idle', 'idle', 'idle']);
  for (const { id } of [child, grandchild])
    expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: id })).toHaveLength(1);
});

it('a sub-agent that a budget paused continues with its agent if the budget has money again by then', async () => {
  const { company, act, breach, raise, byHand, statuses } = await family('company');
  await breach();
  await byHand(pauseAgent);
  await raise();
  expect(await statuses()).toEqual(['paused', 'paused', 'paused']);
  // There is nothing to settle as long as somebody holds the agent back.
  const settling = async () => queuedJobs(database.db, 'settle-budgets', { company_id: company.id });
  const before = (await settling()).length;
  await act(async (tx) => sweepBudgets(tx));
  expect(await settling()).toHaveLength(before);
  await byHand(resumeAgent);
  expect(await statuses()).toEqual(['idle', 'idle', 'idle']);
});
