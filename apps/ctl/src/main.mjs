/** `npm run ctl -- <noun> <verb> [--json]`. */
import { keepCompiled, loadProgram } from '@acp/program';

const { runCtl } = await loadProgram('ctl');
keepCompiled();
process.exitCode = await runCtl();
