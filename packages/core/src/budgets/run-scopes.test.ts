import { beforeAll, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createAgent, createCompany, databaseWithQueue, pagesRead } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { budgetHeld } from '../agents/index.ts';
import { chargeCost, reserveCall, scopesOfRun } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

/** A running run of an agent in a company that has a budget for itself and for each of its 6,000 other agents. */
async function createBudgeted() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  await database.db.execute(sql`
    with policy as (
      insert into budget_policies (company_id, scope_type, scope_id, "window", limit_usd, action)
      select ${company.id}, case n when 0 then 'company' else 'agent' end,
        case n when 0 then ${company.id}::uuid else gen_random_uuid() end, 'month', 10, 'pause'
      from generate_series(0, 6000) n returning id, scope_type
    ), used as (
      insert into budget_windows (policy_id, window_start)
      select id, date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' from policy
    )
    insert into budget_incidents (company_id, policy_id, kind, spent_usd, limit_usd, window_start)
    select ${company.id}, id, 'breach', 10, 10, date_trunc('month', now() at time zone 'UTC') at time zone 'UTC'
    from policy where scope_type = 'agent'`);
  await database.db.execute(sql`vacuum analyze budget_policies, budget_windows, budget_incidents`);
  const values = { company_id: company.id, agent_id: agent.id, wake_reason: 'manual', adapter_type: 'llm' };
  const [run] = await database.db
    .insert(schema.heartbeat_runs)
    .values({ ...values, status: 'running', fence: 1 })
    .returning();
  return run!;
}

it('a run reads its own budgets alone, however many the company has and however many are used up', async () => {
  const { id: run_id, company_id, agent_id } = await createBudgeted();
  const call = { run_id, company_id, fence: 1, estimate_usd: '0.1', spent_usd: '0' };
  expect(await reserveCall(database.db, call)).toMatchObject({ outcome: 'granted' });
  const spender = { company_id, agent_id, project_id: null };
  const reads = {
    reserve: async (db: Database['db']) => reserveCall(db, call),
    charge: async (db: Database['db']) => chargeCost(db, spender, '0.1', run_id),
    hold: async (db: Database['db']) =>
      db.execute(sql`select ${budgetHeld(scopesOfRun('r'))} from heartbeat_runs r where r.id = ${run_id}`),
  };
  const pages: Record<string, number> = {};
  for (const [name, read] of Object.entries(reads)) pages[name] = await pagesRead(database, read);
  expect(Object.entries(pages).filter(([, read]) => read > 120)).toEqual([]);
});
