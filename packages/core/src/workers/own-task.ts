import type { RemoteTaskStatus } from '@acp/contract';
import type { Tx } from '@acp/db';
import { conflict, notFound, type ServiceError } from '@acp/kernel';
import { sql } from 'drizzle-orm';

/** The facts that decide on a worker's request about a task. */
export interface OwnTask {
  id: string;
  status: RemoteTaskStatus;
  company_id: string;
  worker_id: string;
  run: { id: string; agent_id: string; subject_id: string | null; kind: string };
  called_off: boolean;
  transcript_bytes: number;
}

interface Found extends Record<string, unknown> {
  id: string;
  status: RemoteTaskStatus;
  company_id: string;
  worker_id: string;
  run_id: string;
  agent_id: string;
  subject_id: string | null;
  kind: string;
  called_off: boolean;
  transcript_bytes: number;
}

/**
 * The task that this worker has claimed, ended or not; takes no lock.
 * @throws notFound both for an unknown task and for another worker's (specification, Claim and tag rules 5)
 */
export async function ownTask(tx: Tx, worker_id: string, task_id: string): Promise<OwnTask> {
  const { rows } = await tx.execute<Found>(sql`
    select t.id, t.status, t.company_id, t.worker_id, t.agent_id, t.transcript_bytes, r.id as run_id, r.subject_id, r.kind,
      r.cancel_requested_at is not null as called_off
    from remote_tasks t join heartbeat_runs r on r.id = t.heartbeat_run_id
    where t.id = ${task_id} and t.worker_id = ${worker_id}`);
  const [row] = rows;
  if (row === undefined) throw notFound();
  const { id, status, company_id, called_off, transcript_bytes, run_id, agent_id, subject_id, kind } = row;
  const run = { id: run_id, agent_id, subject_id, kind };
  return { id, status, company_id, worker_id, called_off, transcript_bytes, run };
}

/** Whether the task is this worker's, ended or not. */
export async function hasClaimed(tx: Tx, worker_id: string, task_id: string): Promise<boolean> {
  const { rowCount } = await tx.execute(
    sql`select from remote_tasks where id = ${task_id} and worker_id = ${worker_id}`,
  );
  return rowCount === 1;
}

/** The error for a task that can't be written to any more. */
export function taskHasEnded(status: string): ServiceError {
  const how = status === 'cancel_requested' ? 'cancelled' : status;
  return conflict(`the task was ${how === 'failed' ? 'ended as failed' : how}`);
}
