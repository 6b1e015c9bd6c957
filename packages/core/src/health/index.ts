/**
 * Owns `scheduler_ticks`, the counters of the schedulers' workers, which `/readyz` of every role reports, and
 * `scheduler_processes`, the schedulers and the disk usage of each.
 */
export { readTicks, storeTicks } from './ticks.ts';
export type { WorkerTickTotals } from './ticks.ts';
export { forgetProcess, listSchedulers, noteProcess } from './processes.ts';
export type { SchedulerProcess } from './processes.ts';
export { readFigures } from './figures.ts';
export type { InstanceFigures } from './figures.ts';
