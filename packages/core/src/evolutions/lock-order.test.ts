import { expect, it } from '@jest/globals';
import { schema, transaction } from '@acp/db';
import { actors, createAgent, createCompany, databaseWithQueue, meetAt } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { createBudgetPolicy, reportCost, settleBudgets } from '../budgets/index.ts';
import { watchPromotions } from './index.ts';

it('promoted prompts are judged while a budget pauses their agents, whatever the order of the promotions', async () => {
  const database = await databaseWithQueue();
  const company = await createCompany(database.db);
  const { id: company_id } = company;
  const [low, high] = [
    await createAgent(database.db, company, { id: '00000000-0000-4000-8000-000000000001' }),
    await createAgent(database.db, company, { id: 'ffffffff-ffff-4fff-8fff-ffffffffffff' }),
  ];
  const promoted = ({ id: agent_id }: { id: string }, days: number) => ({
    company_id,
    agent_id,
    status: 'completed',
    base_version_number: 1,
    // Not the current one: it was changed since.
    version_number: 7,
    max_rollouts: 10,
    max_cost_usd: '1',
    watch: 'watching',
    promoted_at: sql`now() - make_interval(days => ${days})`,
  });
  await database.db.insert(schema.prompt_evolutions).values([promoted(high, 2), promoted(low, 1)]);
  await transaction(database, async (tx) => {
    const limit = { window: 'day', limit_usd: 1, action: 'pause' } as const;
    await createBudgetPolicy(tx, actors.system, company_id, { scope_type: 'company', ...limit });
    await reportCost(tx, actors.system, company_id, { provider: 'p', model: 'm', cost_usd: 2 });
  });
  const outcomes = await meetAt(database, sql`select from agents where id = ${high.id} for update`, [
    watchPromotions,
    async (tx) => settleBudgets(tx, company_id),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  const judged = await database.db
    .select()
    .from(schema.prompt_evolutions)
    .where(eq(schema.prompt_evolutions.company_id, company_id));
  expect(judged.map(({ watch }) => watch)).toEqual(['superseded', 'superseded']);
});
