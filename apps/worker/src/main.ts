/** `npm run worker`: what main.mjs starts, in itself an entry that takes more memory (units of older releases name it). */
import path from 'node:path';
import { loadQuickly } from '@acp/kernel/quick-loading';

const loaded = loadQuickly(path.resolve(import.meta.dirname, '../../../.build/compile-cache'));
const { runWorker } = await import('./process.ts');
await runWorker();
loaded();
