import { expect, it } from '@jest/globals';
import { transaction } from '@acp/db';
import { actors, createCompany, databaseWithQueue, pagesRead } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import {
  budgetUsage,
  createBudgetPolicy,
  findBudgetPolicy,
  reportCost,
  updateBudgetPolicy,
} from './index.ts';
import { ensureWindows } from './windows.ts';

it('the first window of a project’s budget reads what the project has spent, not all of the company', async () => {
  const database = await databaseWithQueue();
  const company = await createCompany(database.db);
  const { rows } = await database.db.execute<{ id: string; scope_id: string }>(sql`
    insert into budget_policies (company_id, scope_type, scope_id, "window", limit_usd, action)
    values (${company.id}, 'project', gen_random_uuid(), 'lifetime', 10, 'pause') returning id, scope_id`);
  const { id, scope_id } = rows[0]!;
  await database.db.execute(sql`
    insert into cost_events (company_id, project_id, provider, model, input_tokens, output_tokens, cached_tokens, cost_usd)
    select ${company.id}, case when n <= 3 then ${scope_id}::uuid else gen_random_uuid() end, 'p', 'm', 1, 1, 0, 0.5
    from generate_series(1, 20000) n`);
  await database.db.execute(sql`vacuum analyze cost_events`);
  const pages = await pagesRead(database, async (db) => ensureWindows(db, sql`p.id = ${id}`));
  const { rows: windows } = await database.db.execute(
    sql`select spent_usd::float8 as spent from budget_windows where policy_id = ${id}`,
  );
  expect(windows).toEqual([{ spent: 1.5 }]);
  expect(pages).toBeLessThan(100);
});

it('a policy that is enabled again counts what was spent meanwhile, also where the request found it enabled', async () => {
  const database = await databaseWithQueue();
  const { id: company_id } = await createCompany(database.db);
  const act = async <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(database, work);
  const spend = async () =>
    act(async (tx) => reportCost(tx, actors.system, company_id, { provider: 'p', model: 'm', cost_usd: 2 }));
  const input = { scope_type: 'company', window: 'lifetime', limit_usd: 10 } as const;
  const { id } = await act(async (tx) => createBudgetPolicy(tx, actors.system, company_id, input));
  const before = (await findBudgetPolicy(database.db, id))!;
  const enable = async (enabled: boolean) =>
    act(async (tx) => updateBudgetPolicy(tx, actors.system, before, { enabled }));
  await spend();
  await enable(false);
  await spend();
  await enable(true);
  expect(await budgetUsage(database.db, company_id, { policy_ids: [id] })).toMatchObject([{ spent_usd: 4 }]);
});
