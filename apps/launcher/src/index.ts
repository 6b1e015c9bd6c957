export { startService } from './main.ts';
export type { RunningService } from './main.ts';
