/** `npm start`. */
import { keepCompiled, loadProgram } from '@acp/program';

const { runService } = await loadProgram('service');
await runService();
// Once the service is up, everything its roles need is loaded.
keepCompiled();
