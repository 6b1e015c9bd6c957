/** `npm run worker`: started by main.mjs. Also works as an entry point itself, with more memory, for units of older releases. */
import path from 'node:path';
import { loadQuickly } from '@acp/kernel/quick-loading';

const loaded = loadQuickly(path.resolve(import.meta.dirname, '../../../.build/compile-cache'));
const { runWorker } = await import('./process.ts');
await runWorker();
loaded();
