export { startService } from './service.ts';
