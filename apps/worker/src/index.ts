export { startWorker } from './worker.ts';
export type { RunningWorker, WorkerOptions } from './worker.ts';
export type { WorkerPace } from './shift.ts';
