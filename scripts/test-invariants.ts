// `npm run test:invariants -- --seeds N [--seed S]`: runs the mixes of tests/process/invariants.drill.test.ts under N consecutive
// seeds, starting at S (random by default). Reports what happened under each.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runJest } from './run-jest.ts';

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '10' }, seed: { type: 'string' } },
});
const count = Number(values.seeds);
const first = values.seed === undefined ? randomInt(1_000_000) : Number(values.seed);
if (!Number.isInteger(count) || count < 1 || !Number.isInteger(first) || first < 0) {
  process.stderr.write('--seeds takes a number from 1 up, --seed one from 0 up\n');
  process.exit(2);
}

process.stdout.write(`seeds ${first} to ${first + count - 1}\n`);
process.exitCode = await runJest(['--maxWorkers=1', 'tests/process/invariants.drill.test.ts'], {
  INVARIANT_SEEDS: Array.from({ length: count }, (_, index) => first + index).join(','),
});
