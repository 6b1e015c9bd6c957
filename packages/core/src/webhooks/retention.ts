import { schema, type Tx } from '@acp/db';
import { asc, eq, inArray, lt, sql } from 'drizzle-orm';
import { switchOff } from './switch-off.ts';

const { webhook_deliveries, webhooks } = schema;

/** Maximum number of waiting deliveries per webhook. */
const MAX_PENDING = 10_000;

/** Deletes deliveries that finished more than `days` ago. @returns how many, at most `limit` */
export async function deleteDeliveriesBefore(tx: Tx, days: number, limit: number): Promise<number> {
  const old = tx
    .select({ id: webhook_deliveries.id })
    .from(webhook_deliveries)
    .where(lt(webhook_deliveries.finished_at, sql`now() - make_interval(days => ${days})`))
    .orderBy(asc(webhook_deliveries.finished_at))
    .limit(limit);
  const result = await tx.delete(webhook_deliveries).where(inArray(webhook_deliveries.id, old));
  return result.rowCount ?? 0;
}

/** A receiver slower than its company's events would fill the table, so it is disabled, in a transaction. */
export async function switchOffOverfull(tx: Tx, max_pending = MAX_PENDING): Promise<void> {
  const overfull = tx
    .select({ id: webhook_deliveries.webhook_id })
    .from(webhook_deliveries)
    .where(eq(webhook_deliveries.status, 'pending'))
    .groupBy(webhook_deliveries.webhook_id)
    .having(sql`count(*) > ${max_pending}`);
  const rows = await tx.select().from(webhooks).where(inArray(webhooks.id, overfull)).for('no key update');
  for (const row of rows) await switchOff(tx, row, `more than ${max_pending} deliveries waited`);
}
