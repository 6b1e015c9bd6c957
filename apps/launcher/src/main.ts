/**
 * `npm start`: started by main.mjs. Also works as an entry point itself, though with more memory, since units of older
 * releases name it. Once the service is up, everything its roles need is loaded.
 */
import path from 'node:path';
import { loadQuickly } from '@acp/kernel/quick-loading';

const loaded = loadQuickly(path.resolve(import.meta.dirname, '../../../.build/compile-cache'));
const { runService } = await import('./service.ts');
await runService();
loaded();
