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

/** A row with the values that the database computes. */
export interface WorkerWithLoad {
  worker: WorkerRow;
  online: boolean;
  running: number;
}

/** Whether the worker's last heartbeat is recent enough; `w` is the worker. */
export const isOnline = sql`coalesce(w.last_seen_at > now() - make_interval(secs => ${WORKER_OFFLINE_SEC}), false)`;

/** Number of tasks that the worker `w` is working on. */
export const runningTasks: SQL = sql`(select count(*)::int from remote_tasks t
  where t.worker_id = w.id and t.status in ('claimed', 'cancel_requested'))`;

export function presentWorker({ id, name, tags, status, last_seen_at, created_at }: WorkerRow): Worker {
  return { id, name, tags, status: statusOf(status), last_seen_at, created_at };
}

export function presentAdminWorker({ worker, online, running }: WorkerWithLoad): AdminWorker {
  const { version, commit, build_date, prompt_version, shared_models } = worker;
  return {
    ...presentWorker(worker),
    created_by_user_id: worker.created_by_user_id,
    online,
    version,
    commit,
    build_date,
    prompt_version,
    shared_models,
    running,
  };
}

/** The worker as an actor, with everything that decides on its requests. */
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
