import { schema, type Tx } from '@acp/db';
import { eq, sql } from 'drizzle-orm';

const { scheduler_processes } = schema;

/** Called when a scheduler stops properly, so that it is not reported as lost. */
export async function deleteProcess(tx: Tx, scheduler: string): Promise<void> {
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
