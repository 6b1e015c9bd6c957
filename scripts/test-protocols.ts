// `npm run test:protocols`: the protocols' own conformance suites against the service. They come with the development
// dependencies; each scenario is a process of its own, which is why `npm test` leaves them out.
import { spawn } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const bin = path.join(root, 'node_modules/.bin');
const config = '--config=tests/protocols/jest.config.json';
const child = spawn(path.join(bin, 'jest'), [config, ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    PATH: `${bin}${path.delimiter}${process.env.PATH ?? ''}`,
    NODE_OPTIONS: '--experimental-vm-modules --disable-warning=ExperimentalWarning',
  },
});
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
});
