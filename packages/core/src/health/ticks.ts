import { type Tx, schema } from '@acp/db';
import { sql } from 'drizzle-orm';

const { scheduler_ticks } = schema;

/** A worker's counters over all live schedulers. */
export interface WorkerTickTotals {
  worker: string;
  ticks: number;
  errors: number;
  schedulers: number;
}

/**
 * Stores the counters of one scheduler and deletes those of schedulers that have been silent for five minutes.
 * @param started_at start of the process, which resets its counters
 */
export async function storeTicks(
  tx: Tx,
  scheduler: string,
  started_at: Date,
  counters: Readonly<Record<string, { ticks: number; errors: number }>>,
): Promise<void> {
  const rows = Object.entries(counters).map(([worker, { ticks, errors }]) => ({ worker, ticks, errors }));
  await tx.execute(sql`
    with silent as (
      delete from ${scheduler_ticks} where updated_at < now() - interval '5 minutes' and scheduler <> ${scheduler}
    )
    insert into ${scheduler_ticks} (scheduler, worker, ticks, errors, started_at)
    select ${scheduler}, worker, ticks, errors, ${started_at.toISOString()}::timestamptz
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as c(worker text, ticks int, errors int)
    on conflict (scheduler, worker) do update set ticks = excluded.ticks, errors = excluded.errors, updated_at = now()`);
}

/** Totals by worker over the schedulers heard of within the last minute. */
export async function readTicks(tx: Tx): Promise<WorkerTickTotals[]> {
  const { rows } = await tx.execute<{ [K in keyof WorkerTickTotals]: WorkerTickTotals[K] }>(sql`
    select worker, sum(ticks)::int as ticks, sum(errors)::int as errors, count(*)::int as schedulers
    from ${scheduler_ticks} where updated_at > now() - interval '1 minute' group by worker order by worker`);
  return rows;
}
