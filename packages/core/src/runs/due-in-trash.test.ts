import { beforeAll, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { createCompany, databaseWithQueue } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { claimEmbedding } from '../knowledge/index.ts';
import { dueWork, rollOverBudgets } from '../index.ts';

const { budget_incidents, budget_policies, companies, knowledge_embeddings } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

it('what waits in a company in the trash is not due again and again', async () => {
  const { id: company_id } = await createCompany(database.db);
  const money = { limit_usd: '1', spent_usd: '2' };
  const [policy] = await database.db
    .insert(budget_policies)
    .values({
      company_id,
      scope_type: 'company',
      scope_id: company_id,
      window: 'day',
      action: 'pause',
      ...money,
    })
    .returning();
  await database.db.insert(budget_incidents).values({
    company_id,
    policy_id: policy!.id,
    kind: 'breach',
    window_start: new Date(0),
    ...money,
  });
  await database.db.insert(knowledge_embeddings).values({ company_id, wanted_at: sql`now()` });
  const trash = async (deleted_at: Date | null) =>
    database.db.update(companies).set({ deleted_at }).where(eq(companies.id, company_id));
  const due = async () => {
    const { budget_windows, knowledge } = await dueWork(database.db);
    return { budget_windows, knowledge };
  };
  const work = async () =>
    transaction(database, async (tx) => [await rollOverBudgets(tx), (await claimEmbedding(tx))?.company_id]);

  await trash(new Date());
  expect(await work()).toEqual([0, undefined]);
  expect(await due()).toEqual({ budget_windows: false, knowledge: false });
  await trash(null);
  expect((await due()).budget_windows).toBe(true);
  await database.db.update(knowledge_embeddings).set({ next_attempt_at: sql`now() - interval '1 second'` });
  expect(await due()).toEqual({ budget_windows: true, knowledge: true });
  expect(await work()).toEqual([1, company_id]);
});
