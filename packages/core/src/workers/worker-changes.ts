import { schema, type Tx } from '@acp/db';
import { asc, getTableColumns, inArray, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { Change } from '../activity/index.ts';
import { isOnline, presentAdminWorker, runningTasks, type WorkerWithLoad } from './present.ts';

/** Uses the same alias as the fragments of `present.ts`. */
export const w = alias(schema.workers, 'w');

/** Columns of `WorkerWithLoad`. */
export const withLoad = {
  worker: getTableColumns(w),
  online: sql<boolean>`${isOnline}`.as('online'),
  running: sql<number>`${runningTasks}`.as('running'),
};

export async function readWorkers(tx: Tx, ids: readonly string[]): Promise<WorkerWithLoad[]> {
  return tx
    .select(withLoad)
    .from(w)
    .where(inArray(w.id, [...ids]))
    .orderBy(asc(w.id));
}

/** `worker_updated` for each, with its current state. */
export async function workerChanges(tx: Tx, ids: readonly string[]): Promise<Change[]> {
  if (ids.length === 0) return [];
  return (await readWorkers(tx, ids)).map((row) => workerChange(row));
}

export function workerChange(row: WorkerWithLoad, deleted = false): Change {
  return {
    company_id: null,
    entity_type: 'worker',
    entity_id: row.worker.id,
    event: { type: 'worker_updated', data: { ...presentAdminWorker(row), deleted } },
  };
}
