export { startService } from './service.ts';
export type { RunningService } from './service.ts';
