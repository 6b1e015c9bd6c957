import { schema, type Tx } from '@acp/db';
import { eq, sql } from 'drizzle-orm';

const { scheduler_processes } = schema;

/**
 * Reports that the scheduler is alive. One that fell silent without stopping properly is kept for an hour.
 * @param disk_used_pct null if unavailable
 */
export async function noteProcess(
  tx: Tx,
  scheduler: string,
  { started_at, disk_used_pct }: { started_at: Date; disk_used_pct: number | null },
): Promise<void> {
  await tx.execute(sql`
    with silent as (
      delete from ${scheduler_processes} where updated_at < now() - interval '1 hour' and scheduler <> ${scheduler}
    )
    insert into ${scheduler_processes} (scheduler, started_at, disk_used_pct)
    values (${scheduler}, ${started_at.toISOString()}::timestamptz, ${disk_used_pct})
    on conflict (scheduler) do update set disk_used_pct = excluded.disk_used_pct, updated_at = now()`);
}

/** Called when a scheduler stops properly, so that it is not reported as lost. */
export async function forgetProcess(tx: Tx, scheduler: string): Promise<void> {
  await tx.delete(scheduler_processes).where(eq(scheduler_processes.scheduler, scheduler));
}

export interface SchedulerProcess {
  scheduler: string;
  started_at: Date;
  updated_at: Date;
  disk_used_pct: number | null;
  /** False if it was lost: it fell silent without stopping properly. */
  reports: boolean;
}

/** Live schedulers and, for an hour, lost ones; at most a hundred. */
export async function listSchedulers(tx: Tx): Promise<SchedulerProcess[]> {
  return tx
    .select({
      scheduler: scheduler_processes.scheduler,
      started_at: scheduler_processes.started_at,
      updated_at: scheduler_processes.updated_at,
      disk_used_pct: scheduler_processes.disk_used_pct,
      reports: sql<boolean>`${scheduler_processes.updated_at} > now() - interval '1 minute'`,
    })
    .from(scheduler_processes)
    .orderBy(scheduler_processes.started_at, scheduler_processes.scheduler)
    .limit(100);
}
