import { type RemoteTask, type RemoteTaskStatus, remoteTaskStatuses, type TaskPayload } from '@acp/contract';
import { rowReader, schema } from '@acp/db';

export type TaskRow = typeof schema.remote_tasks.$inferSelect;

/** Reads a task from the row of a hand-written statement. */
export const taskRow = rowReader(schema.remote_tasks);

/** @param payload as it is handed out: the one in the row has no keys */
export function presentTask(task: TaskRow, payload: TaskPayload): RemoteTask {
  const { id, heartbeat_run_id, agent_id, company_id, worker_id, tags_required, error } = task;
  const { claimed_at, completed_at, created_at } = task;
  return {
    id,
    heartbeat_run_id,
    agent_id,
    company_id,
    worker_id,
    tags_required,
    payload,
    status: statusOf(task.status),
    claimed_at,
    completed_at,
    result: null,
    error,
    created_at,
  };
}

function statusOf(text: string): RemoteTaskStatus {
  const status = remoteTaskStatuses.find((known) => known === text);
  if (status === undefined) throw new Error(`unknown status of a task: ${text}`);
  return status;
}
