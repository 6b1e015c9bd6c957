/** `npm run worker`: the process's entry. */
import path from 'node:path';
import { loadQuickly } from '@acp/kernel/quick-loading';

const loaded = loadQuickly(path.resolve(import.meta.dirname, '../../../.build/compile-cache'));
const { runWorker } = await import('./process.ts');
await runWorker();
loaded();
