import type { Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';

// A result is normally applied within a second; after this long its job may be lost.
const WAITED_SEC = 60;
const BATCH = 200;

/**
 * Enqueues results again whose run is still waiting for them, in random order, so that none is starved by others that can't be
 * applied either. @returns how many
 */
export async function sweepRemoteResults(tx: Tx): Promise<number> {
  const { rows } = await tx.execute<{ task_id: string }>(sql`
    select t.id as task_id from heartbeat_runs r join remote_tasks t on t.heartbeat_run_id = r.id
    where r.status = 'running' and r.lease_expires_at is null and t.status = 'completed'
      and t.completed_at < now() - make_interval(secs => ${WAITED_SEC})
    order by random() limit ${BATCH}`);
  await enqueueMany(tx, 'apply-remote-result', rows);
  return rows.length;
}

/** The result that a worker delivered, and whether its run is still waiting for it. */
interface BroughtTask {
  run_id: string;
  result: unknown;
  waiting: boolean;
}

/** Undefined for a task that is gone or was not completed. */
export async function completedTask(tx: Tx, task_id: string): Promise<BroughtTask | undefined> {
  const { rows } = await tx.execute<{ run_id: string; result: unknown; waiting: boolean }>(sql`
    select r.id as run_id, t.result, r.status = 'running' as waiting
    from remote_tasks t join heartbeat_runs r on r.id = t.heartbeat_run_id
    where t.id = ${task_id} and t.status = 'completed'`);
  return rows[0];
}
