import { schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

const { scheduler_processes, scheduler_ticks } = schema;

/**
 * Reports in one statement that the scheduler is alive, and what its workers have done lately. Of those that fell
 * silent without stopping properly, the counters are deleted after five minutes, the rest after an hour.
 */
export async function reportProcess(
  tx: Tx,
  scheduler: string,
  report: {
    /** Start of the process, which resets its counters. */
    started_at: Date;
    /** Null if unavailable. */
    disk_used_pct: number | null;
    workers: Readonly<Record<string, { ticks: number; errors: number }>>;
  },
): Promise<void> {
  const started_at = sql`${report.started_at.toISOString()}::timestamptz`;
  const counted = Object.entries(report.workers).map(([worker, { ticks, errors }]) => ({
    worker,
    ticks,
    errors,
  }));
  await tx.execute(sql`
    with silent_workers as (
      delete from ${scheduler_ticks} where updated_at < now() - interval '5 minutes' and scheduler <> ${scheduler}
    ), silent as (
      delete from ${scheduler_processes} where updated_at < now() - interval '1 hour' and scheduler <> ${scheduler}
    ), alive as (
      insert into ${scheduler_processes} (scheduler, started_at, disk_used_pct)
      values (${scheduler}, ${started_at}, ${report.disk_used_pct})
      on conflict (scheduler) do update set disk_used_pct = excluded.disk_used_pct, updated_at = now()
    )
    insert into ${scheduler_ticks} (scheduler, worker, ticks, errors, started_at)
    select ${scheduler}, worker, ticks, errors, ${started_at}
    from jsonb_to_recordset(${JSON.stringify(counted)}::jsonb) as c(worker text, ticks int, errors int)
    on conflict (scheduler, worker) do update set ticks = excluded.ticks, errors = excluded.errors, updated_at = now()`);
}
