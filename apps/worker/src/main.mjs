/** `npm run worker`. */
import { keepCompiled, loadProgram } from '@acp/program';

const { runWorker } = await loadProgram('worker');
await runWorker();
keepCompiled();
