import { type Tx, schema } from '@acp/db';
import { sql } from 'drizzle-orm';

const { scheduler_ticks } = schema;

/** A worker's counters over all live schedulers. */
interface WorkerTickTotals {
  worker: string;
  ticks: number;
  errors: number;
  schedulers: number;
}

/** Totals by worker over the schedulers heard of within the last minute: a select of `WorkerTickTotals`. */
export const tickTotals = sql`
  select worker, sum(ticks)::int as ticks, sum(errors)::int as errors, count(*)::int as schedulers
  from ${scheduler_ticks} where updated_at > now() - interval '1 minute' group by worker`;

export async function readTicks(tx: Tx): Promise<WorkerTickTotals[]> {
  const { rows } = await tx.execute<{ [K in keyof WorkerTickTotals]: WorkerTickTotals[K] }>(
    sql`${tickTotals} order by worker`,
  );
  return rows;
}
