import type { TaskControl } from '@acp/contract';
import type { Tx } from '@acp/db';
import { CANCELLED } from '../runs/index.ts';
import { endTask } from './bring-result.ts';
import { type OwnTask, ownTask } from './own-task.ts';

/**
 * Whether the worker should stop, including when its task has ended without it by its deadline.
 * @throws notFound like `ownTask`
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

/** Ends a task after its worker was instructed to stop: nothing more is expected (decisions 7.25). Needs a transaction. */
export async function recordStopped(tx: Tx, task: OwnTask): Promise<void> {
  await endTask(tx, task, {
    from: ['claimed', 'cancel_requested'],
    to: 'cancelled',
    error: 'cancelled',
    category: CANCELLED,
  });
}
