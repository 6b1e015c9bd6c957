/** Companies' own prices for models, used if the operator's pricing file does not name the model. */
import { type Actor, type ModelPrice, type Pricing, type SetModelPrice } from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { isUuid, notFound } from '@acp/kernel';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { parsePricing } from './pricing.ts';

const { model_prices } = schema;

type PriceRow = typeof model_prices.$inferSelect;

/** Newest first. */
export async function listModelPrices(
  tx: Tx,
  company_id: string,
  page: PageRequest = {},
): Promise<Page<ModelPrice>> {
  const plan = newestFirst(model_prices.created_at, model_prices.id, page, 50);
  const rows = tx
    .select()
    .from(model_prices)
    .where(and(eq(model_prices.company_id, company_id), plan.where))
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.read(tx, rows, byCreation, present);
}

/** Undefined if the company has set none. */
export async function findModelPrice(
  tx: Tx,
  company_id: string,
  model: string,
): Promise<ModelPrice | undefined> {
  const [row] = await tx
    .select()
    .from(model_prices)
    .where(and(eq(model_prices.company_id, company_id), eq(model_prices.model, model)));
  return row && present(row);
}

/** Replaces an existing price. Applies to runs that start later. @throws conflict if there are too many */
export async function setModelPrice(
  tx: Tx,
  actor: Actor,
  company_id: string,
  { model, ...input }: SetModelPrice,
): Promise<ModelPrice> {
  const values = {
    input_usd: String(input.input_usd),
    output_usd: String(input.output_usd),
    cached_usd: input.cached_usd == null ? null : String(input.cached_usd),
  };
  const [row] = await tx
    .insert(model_prices)
    .values({ company_id, model, ...values })
    .onConflictDoUpdate({
      target: [model_prices.company_id, model_prices.model],
      set: { ...values, updated_at: sql`now()` },
    })
    .returning();
  await assertRoom(tx, 'model_prices', company_id, 0);
  const price = present(row!);
  const { input_usd, output_usd, cached_usd } = price;
  await recordChanges(tx, actor, [changeOf(row!, 'model_price.set', { input_usd, output_usd, cached_usd })]);
  return price;
}

/** @throws notFound, also for another company's */
export async function deleteModelPrice(tx: Tx, actor: Actor, company_id: string, id: string): Promise<void> {
  if (!isUuid(id)) throw notFound();
  const [row] = await tx
    .delete(model_prices)
    .where(and(eq(model_prices.id, id), eq(model_prices.company_id, company_id)))
    .returning();
  if (!row) throw notFound();
  await recordChanges(tx, actor, [changeOf(row, 'model_price.deleted')]);
}

/** All of a company's prices, as a column `prices` for statements that read something of the company anyway. */
export const pricesColumn = (company_id: SQL): SQL => sql`(
  select jsonb_object_agg(m.model, jsonb_strip_nulls(jsonb_build_object('InputPer1K', m.input_usd / 1000,
    'OutputPer1K', m.output_usd / 1000, 'CachedPer1K', m.cached_usd / 1000)))
  from model_prices m where m.company_id = ${company_id}) as prices`;

/** Prices from a row with `pricesColumn`; null means none. */
export const pricesIn = ({ prices }: Record<string, unknown>): Pricing =>
  prices === null ? {} : parsePricing(prices);

export async function companyPrices(tx: Tx, company_id: string): Promise<Pricing> {
  const { rows } = await tx.execute(sql`select ${pricesColumn(sql`${company_id}::uuid`)}`);
  return pricesIn(rows[0]!);
}

function present(row: PriceRow): ModelPrice {
  return {
    id: row.id,
    company_id: row.company_id,
    model: row.model,
    input_usd: Number(row.input_usd),
    output_usd: Number(row.output_usd),
    cached_usd: row.cached_usd === null ? null : Number(row.cached_usd),
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

const changeOf = (
  { company_id, id, model }: PriceRow,
  action: string,
  details: Record<string, unknown> = {},
) => ({
  company_id,
  action,
  entity_type: 'model_price',
  entity_id: id,
  details: { model, ...details },
});
