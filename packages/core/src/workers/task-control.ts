import type { TaskControl } from '@acp/contract';
import type { Tx } from '@acp/db';
import { CANCELLED } from '../runs/index.ts';
import { endTask } from './bring-result.ts';
import { type OwnTask, ownTask } from './own-task.ts';

/**
 * Whether the worker is to stop: also where its task has ended without it, by its deadline.
 * @throws notFound as `ownTask`
 */
export async function readControl(
  tx: Tx,
  worker_id: string,
  task_id: string,
): Promise<TaskControl & { task: OwnTask }> {
  const task = await ownTask(tx, worker_id, task_id);
  const cancel = task.status !== 'completed' && (task.called_off || task.status !== 'claimed');
  return { cancel, task };
}

/** The worker has been told to stop: from now on nothing is expected of it (decisions 7.25). For a transaction. */
export async function recordStopped(tx: Tx, task: OwnTask): Promise<void> {
  await endTask(tx, task, {
    from: ['claimed', 'cancel_requested'],
    to: 'cancelled',
    error: 'cancelled',
    category: CANCELLED,
  });
}
