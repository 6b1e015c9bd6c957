import { type Tx, signal } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { revokeRunKeys } from '../agents/index.ts';
import { MISSING_TASK_SEC } from '../runs/index.ts';
import { workerChanges } from './worker-changes.ts';

const scheduler = systemActor('scheduler');

/** After this many lost workers a task fails, instead of taking down one after the other. */
export const MAX_ATTEMPTS = 5;
const BATCH = 100;

interface Released extends Record<string, unknown> {
  id: string;
  run_id: string;
  agent_id: string;
  company_id: string;
  worker_id: string;
}

/** Returns the workers' claims to the queue; the caller has locked the workers. */
export async function releaseTasksOf(tx: Tx, worker_ids: readonly string[], reason: string): Promise<void> {
  const ids = sql`(select jsonb_array_elements_text(${JSON.stringify(worker_ids)}::jsonb)::uuid)`;
  await release(tx, sql`t.worker_id in ${ids} order by t.id for update`, reason);
}

/**
 * Returns claims to the queue that their workers' heartbeats no longer list, one batch per transaction; several schedulers
 * may do this at the same time. @returns how many
 */
export async function releaseMissingTasks(tx: Tx): Promise<number> {
  const missing = sql`t.missing_since < now() - make_interval(secs => ${MISSING_TASK_SEC})
    order by t.id limit ${BATCH} for update skip locked`;
  return release(tx, missing, 'its worker does not have it any more');
}

/**
 * Queues tasks again, with the timeout of a fresh one; their runs' keys are revoked with the claims. A task that was claimed
 * too often gets an expired deadline, so that the next check for overdue tasks fails it.
 */
async function release(tx: Tx, which: SQL, reason: string): Promise<number> {
  const { rows } = await tx.execute<Released>(sql`
    with lost as materialized (
      select t.id, t.worker_id from remote_tasks t where t.status = 'claimed' and ${which}
    )
    update remote_tasks t set status = 'queued', worker_id = null, claimed_at = null, missing_since = null,
      deadline = clock_timestamp() + case when t.attempts < ${MAX_ATTEMPTS} then make_interval(secs => t.timeout_sec) else '0' end
    from lost where t.id = lost.id
    returning t.id, t.heartbeat_run_id as run_id, t.agent_id, t.company_id, lost.worker_id`);
  if (rows.length === 0) return 0;
  await revokeRunKeys(
    tx,
    rows.map(({ run_id, agent_id }) => ({ id: run_id, agent_id })),
  );
  signal(tx, 'tasks', '');
  const workers = new Set(rows.map(({ worker_id }) => worker_id));
  await recordChanges(tx, scheduler, [
    ...rows.map((row) => releasedChange(row, reason)),
    ...(await workerChanges(tx, [...workers])),
  ]);
  return rows.length;
}

function releasedChange({ id, run_id, company_id, worker_id }: Released, reason: string): Change {
  return {
    company_id,
    action: 'remote_task.released',
    entity_type: 'remote_task',
    entity_id: id,
    details: { run_id, worker_id, reason },
  };
}
