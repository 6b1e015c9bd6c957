/** `npm run worker`: the process's entry. Nothing of ours may be imported before the compile cache is on. */
import { enableCompileCache, flushCompileCache } from 'node:module';
import path from 'node:path';

enableCompileCache(path.resolve(import.meta.dirname, '../../../.build/compile-cache'));
const { runWorker } = await import('./process.ts');
await runWorker();
flushCompileCache();
