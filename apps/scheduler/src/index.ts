// The scheduler tier: everything that runs off the request path.
export { startScheduler } from './main.ts';
export type { RunningScheduler } from './main.ts';
