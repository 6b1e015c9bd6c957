import { type RemoteTask, type RemoteTaskStatus, remoteTaskStatuses, type TaskPayload } from '@acp/contract';
import { schema } from '@acp/db';
import { getTableColumns } from 'drizzle-orm';

export type TaskRow = typeof schema.remote_tasks.$inferSelect;

const columns = Object.entries(getTableColumns(schema.remote_tasks));

/** A row as the driver hands it over, with its columns' types. */
export function taskRow(raw: Record<string, unknown>): TaskRow {
  return Object.fromEntries(
    columns.map(([name, column]) => [name, raw[name] === null ? null : column.mapFromDriverValue(raw[name])]),
  ) as TaskRow;
}

/** @param payload as it is handed out: that of the row has no keys */
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
