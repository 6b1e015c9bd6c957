import {
  type AdminWorker,
  type SharedModel,
  type Worker,
  WORKER_OFFLINE_SEC,
  type WorkerActor,
  type WorkerStatus,
  workerStatuses,
} from '@acp/contract';
import type { schema } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';

export type WorkerRow = typeof schema.workers.$inferSelect;

/** A row with what is counted and timed by the database. */
export interface WorkerWithLoad {
  worker: WorkerRow;
  online: boolean;
  running: number;
}

/** Whether a heartbeat came in time; `w` is the worker. */
export const isOnline = sql`coalesce(w.last_seen_at > now() - make_interval(secs => ${WORKER_OFFLINE_SEC}), false)`;

/** Tasks in the hands of the worker `w`. */
export const runningTasks: SQL = sql`(select count(*)::int from remote_tasks t
  where t.worker_id = w.id and t.status in ('claimed', 'cancel_requested'))`;

export function presentWorker({ id, name, tags, status, last_seen_at, created_at }: WorkerRow): Worker {
  return { id, name, tags, status: statusOf(status), last_seen_at, created_at };
}

export function presentAdminWorker({ worker, online, running }: WorkerWithLoad): AdminWorker {
  const { version, commit, build_date, prompt_version, shared_models } = worker;
  return {
    ...presentWorker(worker),
    online,
    version,
    commit,
    build_date,
    prompt_version,
    shared_models,
    running,
  };
}

/** The worker as the one who acts: with all that its requests are judged by. */
export function actorOf({ id, name, status, tags, shared_models }: ActorColumns): WorkerActor {
  return { kind: 'worker', worker_id: id, name, status: statusOf(status), tags, shared_models };
}

interface ActorColumns {
  id: string;
  name: string;
  status: string;
  tags: string[];
  shared_models: SharedModel[];
}

function statusOf(text: string): WorkerStatus {
  const status = workerStatuses.find((known) => known === text);
  if (status === undefined) throw new Error(`unknown status of a worker: ${text}`);
  return status;
}
