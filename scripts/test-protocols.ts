// `npm run test:protocols`: the protocols' own conformance suites against the service. They come with the development
// dependencies; each scenario is a process of its own, which is why `npm test` leaves them out.
import { runJest } from './run-jest.ts';

process.exitCode = await runJest(['--config=tests/protocols/jest.config.json', ...process.argv.slice(2)]);
