// `npm run test:protocols`: runs the protocols' own conformance suites against the service. They are development
// dependencies; each scenario is a separate process, which is why `npm test` leaves them out.
import { runJest } from './run-jest.ts';

process.exitCode = await runJest(['--config=tests/protocols/jest.config.json', ...process.argv.slice(2)]);
