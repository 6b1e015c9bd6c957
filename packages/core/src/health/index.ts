/** Owns `scheduler_ticks`: the counters of the schedulers' workers, which `/readyz` of every role reports. */
export { readTicks, storeTicks } from './ticks.ts';
export type { WorkerTickTotals } from './ticks.ts';
