/** Files that the reference worker keeps on disk. */
import { Type, type Static } from 'typebox';
import { FailTask, TaskResult, WorkerKey } from './workers.ts';

/** A result waiting to be delivered to the service. */
export const WorkerReport = Type.Union([
  Type.Object({ result: TaskResult }),
  Type.Object({ error: FailTask.properties.error }),
]);
export type WorkerReport = Static<typeof WorkerReport>;

/** The key that the service issued to the worker. */
export const WorkerKeyFile = Type.Object({ api_key: WorkerKey });
