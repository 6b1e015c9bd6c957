import type { RemoteTaskStatus, TaskResult, WorkerActor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { cutText, storableText } from '@acp/kernel';
import { enqueue } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { endHandedOverRun } from '../runs/index.ts';
import { type OwnTask, ownTask, taskHasEnded } from './own-task.ts';
import { workerChanges } from './worker-changes.ts';

/** The category of a run whose worker reports a failure. */
export const WORKER_CATEGORY = 'worker';
const ERROR_BYTES = 4000;

/**
 * What every ended task has set. Nobody reads its payload any more, with the prompt and the knowledge in it: kept until the run is
 * deleted, it would be most of the table, and most of what deleting costs (docs/adr/0040).
 */
export const AT_TASK_END = sql`missing_since = null, payload = '{}'::jsonb, completed_at = clock_timestamp()`;

/**
 * Stores the result as received, exactly once; a job applies it. A repeat by the same worker changes nothing.
 * @throws notFound like `ownTask`; conflict once the task was cancelled or has failed
 */
export async function completeTask(
  tx: Tx,
  worker: WorkerActor,
  task_id: string,
  result: TaskResult,
): Promise<void> {
  const { rows } = await tx.execute<{ company_id: string; run_id: string }>(sql`
    update remote_tasks set status = 'completed', result = ${JSON.stringify(result)}::jsonb, ${AT_TASK_END}
    where id = ${task_id} and worker_id = ${worker.worker_id} and status = 'claimed'
      and not exists (select from heartbeat_runs r where r.id = heartbeat_run_id and r.cancel_requested_at is not null)
    returning company_id, heartbeat_run_id as run_id`);
  const [row] = rows;
  if (row === undefined) {
    const { status, called_off } = await ownTask(tx, worker.worker_id, task_id);
    if (status !== 'completed') throw taskHasEnded(called_off ? 'cancelled' : status);
    return;
  }
  await enqueue(tx, 'apply-remote-result', { task_id });
  await recordChanges(tx, worker, [
    endedTask('remote_task.completed', { id: task_id, company_id: row.company_id, run_id: row.run_id }),
    ...(await workerChanges(tx, [worker.worker_id])),
  ]);
}

/**
 * Ends task and run as failed immediately (specification, Claim and tag rules 6). A repeat changes nothing.
 * @throws notFound like `ownTask`; conflict once the task has ended otherwise
 */
export async function failTask(tx: Tx, worker: WorkerActor, task_id: string, error: string): Promise<void> {
  const task = await ownTask(tx, worker.worker_id, task_id);
  if (task.status === 'failed') return;
  if (task.status !== 'claimed') throw taskHasEnded(task.status);
  const message = cutText(storableText(error.trim() || 'the worker reported a failure'), ERROR_BYTES);
  const ended = await endTask(tx, task, {
    from: ['claimed'],
    to: 'failed',
    error: message,
    category: WORKER_CATEGORY,
  });
  if (!ended) throw taskHasEnded((await ownTask(tx, worker.worker_id, task_id)).status);
  await recordChanges(tx, worker, [
    endedTask('remote_task.failed', { id: task.id, company_id: task.company_id, run_id: task.run.id }),
    ...(await workerChanges(tx, [worker.worker_id])),
  ]);
}

/** How a task ends without a result, and from which states. */
interface TaskEnd {
  from: readonly RemoteTaskStatus[];
  to: 'failed' | 'cancelled';
  error: string;
  category: string;
}

/**
 * Ends run and task, in this order.
 * @returns false if something else was first: nothing was written
 * @throws conflict if that happened in between: the caller's transaction is void
 */
export async function endTask(
  tx: Tx,
  { id, run }: OwnTask,
  { from, to, error, category }: TaskEnd,
): Promise<boolean> {
  const live = sql`t.id = ${id} and t.status in (select jsonb_array_elements_text(${JSON.stringify(from)}::jsonb))`;
  const failure = { category, message: error };
  if (!(await endHandedOverRun(tx, run, failure, sql`exists (select from remote_tasks t where ${live})`)))
    return false;
  const closed = await tx.execute(sql`
    update remote_tasks t set status = ${to}, error = ${error}, ${AT_TASK_END}
    where ${live}`);
  if (closed.rowCount === 0) throw taskHasEnded('ended meanwhile');
  return true;
}

function endedTask(
  action: string,
  { id, company_id, run_id }: { id: string; company_id: string; run_id: string },
): Change {
  return { company_id, action, entity_type: 'remote_task', entity_id: id, details: { run_id } };
}
