/** `npm run ctl -- <noun> <verb> [--json]`: started by main.mjs. */
import path from 'node:path';
import { loadQuickly } from '@acp/kernel/quick-loading';

const loaded = loadQuickly(path.resolve(import.meta.dirname, '../../../.build/compile-cache'));
const { runCtl } = await import('./run-ctl.ts');
loaded();
process.exitCode = await runCtl();
