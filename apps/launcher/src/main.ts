/**
 * The process's entry: nothing of ours may be imported before the compile cache is on. It keeps the compiled code and
 * the stripped types of all modules between starts; where its folder can't be written, starts are just slower.
 */
import { enableCompileCache, flushCompileCache } from 'node:module';
import path from 'node:path';

enableCompileCache(path.resolve(import.meta.dirname, '../../../.build/compile-cache'));
const { runService } = await import('./service.ts');
await runService();
// Not left to the end of the process, which may be a SIGKILL.
flushCompileCache();
