import {
  adapterTraits,
  createValidator,
  type RemoteTask,
  TaskPayload,
  WORKER_OFFLINE_SEC,
  type WorkerActor,
} from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { mintRunKey } from '../agents/index.ts';
import { noteOnHandedOverRun } from '../runs/index.ts';
import { presentTask, type TaskRow, taskRow } from './present-task.ts';
import { workerChanges } from './worker-changes.ts';

const readPayload = createValidator(TaskPayload, 'payload');

/** Of each route so many are looked at: as many claims at once pass each other by. */
const HEADS = 32;

export interface ClaimRules {
  /** Where programs of the task reach the service. */
  base_url: string;
}

/**
 * Hands the worker the oldest task of the first route that has one left. One statement decides: the worker must be approved
 * and have been seen within 5 minutes, the task queued and its run not called off; tasks that others are just taking are
 * passed over. The payload gets what is minted for this claim and stored nowhere (decisions 8.6).
 * @param routes those that the worker may take, in order
 */
export async function claimTask(
  tx: Tx,
  worker: WorkerActor,
  routes: readonly string[],
  rules: ClaimRules,
): Promise<RemoteTask | undefined> {
  const task = await takeTask(tx, worker, routes);
  if (task === undefined) return undefined;
  const { id, company_id, agent_id, heartbeat_run_id: run_id } = task;
  const stored = readPayload(task.payload);
  const payload = { ...stored, ...(await runAccess(tx, task, stored, rules)) };
  await noteOnHandedOverRun(tx, run_id, [
    { kind: 'log', payload: { message: `worker ${worker.name} took the task` } },
  ]);
  await recordChanges(tx, worker, [
    {
      company_id,
      action: 'remote_task.claimed',
      entity_type: 'remote_task',
      entity_id: id,
      details: { run_id, agent_id, worker_id: worker.worker_id },
    },
    ...(await workerChanges(tx, [worker.worker_id])),
  ]);
  return presentTask(task, payload);
}

/** Run and task are locked at once and nothing is waited for, so that no order of locks is broken. */
async function takeTask(
  tx: Tx,
  worker: WorkerActor,
  routes: readonly string[],
): Promise<TaskRow | undefined> {
  const { rows } = await tx.execute(sql`
    with me as materialized (
      select w.id, w.tags from workers w
      where w.id = ${worker.worker_id} and w.status = 'approved'
        and w.last_seen_at > clock_timestamp() - make_interval(secs => ${WORKER_OFFLINE_SEC})
      for share
    ), head as materialized (
      select task.id, task.place from me cross join lateral (
        select t.id, wanted.place, t.created_at
        from jsonb_array_elements_text(${JSON.stringify(routes)}::jsonb) with ordinality as wanted(route, place)
        cross join lateral (
          select q.id, q.created_at from remote_tasks q where q.status = 'queued' and q.route = wanted.route
          order by q.created_at, q.id limit ${HEADS}
        ) t
      ) task order by task.place, task.created_at, task.id
    ), picked as materialized (
      select t.id from head
      join remote_tasks t on t.id = head.id
      join heartbeat_runs r on r.id = t.heartbeat_run_id
      cross join me
      where t.status = 'queued' and t.deadline > clock_timestamp() and me.tags @> t.tags_required
        and r.status = 'running' and r.lease_expires_at is null and r.cancel_requested_at is null
      order by head.place, t.created_at, t.id limit 1
      for no key update of r, t skip locked
    )
    update remote_tasks t set status = 'claimed', worker_id = ${worker.worker_id}, claimed_at = clock_timestamp(),
      missing_since = null, attempts = t.attempts + 1,
      deadline = clock_timestamp() + make_interval(secs => t.timeout_sec)
    from picked where t.id = picked.id
    returning t.*`);
  return rows[0] && taskRow(rows[0]);
}

/** A key of its own for adapters that run a program beside the model. */
async function runAccess(
  tx: Tx,
  { heartbeat_run_id: id, agent_id, company_id }: TaskRow,
  { adapter_config }: TaskPayload,
  { base_url }: ClaimRules,
): Promise<Pick<TaskPayload, 'service_api_key' | 'service_base_url'>> {
  const type = adapter_config.local_adapter_type;
  if (typeof type !== 'string' || adapterTraits(type).runs_as !== 'program') return {};
  const service_api_key = await mintRunKey(tx, { id, agent_id, company_id });
  return { service_api_key, service_base_url: base_url };
}
