/**
 * Owns `scheduler_ticks`, the counters of the schedulers' workers, which `/readyz` of every role reports, and
 * `scheduler_processes`, the schedulers and the disk usage of each. Also lists the sweeps for lost work.
 */
export { readTicks, tickTotals } from './ticks.ts';
export { deleteProcess, listSchedulers } from './processes.ts';
export type { SchedulerProcess } from './processes.ts';
export { reportProcess } from './report-process.ts';
export { readFigures } from './figures.ts';
export type { InstanceFigures } from './figures.ts';
export type { Sweep } from './sweep.ts';
export { sweeps, waitingSweeps } from './sweeps.ts';
