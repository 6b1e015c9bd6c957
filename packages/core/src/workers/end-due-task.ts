import { openTaskStatuses, type Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { CANCELLED, endHandedOverRun } from '../runs/index.ts';
import { AT_TASK_END, WORKER_CATEGORY } from './bring-result.ts';
import { MAX_ATTEMPTS } from './release-tasks.ts';
import { workerChanges } from './worker-changes.ts';

/** How much time a worker has to learn that its task is cancelled (decisions 7.25). */
const CANCEL_SEC = 60;

interface DueTask extends Record<string, unknown> {
  id: string;
  status: 'queued' | 'claimed' | 'cancel_requested';
  run_id: string;
  agent_id: string;
  subject_id: string | null;
  kind: string;
  called_off: boolean;
  overdue: boolean;
  timeout_sec: number;
  attempts: number;
  worker_id: string | null;
}

type Step = { to: 'cancel_requested' } | { to: 'cancelled' | 'failed'; error: string; category: string };

/**
 * Ends one task that is past its deadline or whose run is cancelled, along with its run; a claimed task is first requested to
 * stop. For a transaction of its own, repeated until undefined; if several schedulers find the same task, one of them ends it.
 * @returns the run; `ended` is false while its worker still has time to stop
 */
export async function endDueTask(tx: Tx): Promise<{ run_id: string; ended: boolean } | undefined> {
  const { rows } = await tx.execute<DueTask>(sql`
    select t.id, t.status, t.heartbeat_run_id as run_id, t.agent_id, r.subject_id, r.kind, t.deadline < now() as overdue,
      t.attempts, t.worker_id, t.timeout_sec, r.cancel_requested_at is not null as called_off
    from remote_tasks t join heartbeat_runs r on r.id = t.heartbeat_run_id
    where t.status in ${openTaskStatuses} and (t.deadline < now()
      or (t.status <> 'cancel_requested' and r.status = 'running' and r.cancel_requested_at is not null))
    order by t.deadline limit 1`);
  const [task] = rows;
  if (task === undefined) return undefined;
  const step = stepOf(task);
  if (step.to === 'cancel_requested') {
    await tx.execute(sql`
      update remote_tasks set status = 'cancel_requested', deadline = clock_timestamp() + make_interval(secs => ${CANCEL_SEC})
      where id = ${task.id} and status = 'claimed'`);
    return { run_id: task.run_id, ended: false };
  }
  const ended = await endHandedOverRun(
    tx,
    { ...task, id: task.run_id },
    { category: step.category, message: step.error },
    sql`exists (select from remote_tasks t where t.id = ${task.id} and t.status = ${task.status})`,
  );
  const closed = await tx.execute(sql`
    update remote_tasks set status = ${step.to}, error = ${step.error}, ${AT_TASK_END}
    where id = ${task.id} and status = ${task.status}`);
  // Its worker was faster: its result decides.
  if (ended && closed.rowCount === 0) throw conflict('the task has ended in the meantime');
  if (ended && task.worker_id !== null)
    await recordChanges(tx, systemActor('scheduler'), await workerChanges(tx, [task.worker_id]));
  return { run_id: task.run_id, ended };
}

function stepOf({ status, called_off, overdue, timeout_sec, attempts }: DueTask): Step {
  if (status === 'claimed' && called_off && !overdue) return { to: 'cancel_requested' };
  if (status === 'cancel_requested' || called_off)
    return { to: 'cancelled', error: 'cancelled', category: CANCELLED };
  if (status === 'queued' && attempts >= MAX_ATTEMPTS)
    return { to: 'failed', error: `workers have lost the task ${attempts} times`, category: WORKER_CATEGORY };
  const what = status === 'queued' ? 'no worker has taken the task' : 'no result from the worker';
  return {
    to: 'failed',
    error: `remote task timed out: ${what} within ${timeout_sec} s`,
    category: 'timeout',
  };
}
