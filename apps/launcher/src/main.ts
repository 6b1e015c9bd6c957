/**
 * `npm start`: what main.mjs starts, in itself an entry that takes more memory (units of older releases name it). Once the service runs, it has loaded all
 * that its roles need.
 */
import path from 'node:path';
import { loadQuickly } from '@acp/kernel/quick-loading';

const loaded = loadQuickly(path.resolve(import.meta.dirname, '../../../.build/compile-cache'));
const { runService } = await import('./service.ts');
await runService();
loaded();
