// Jest's `testSequencer`. A fresh checkout knows no durations, and jest would begin with the longest texts: then a short file that
// starts a dozen processes comes last, and every other worker waits for it.
import { createRequire } from 'node:module';
import path from 'node:path';

interface TestFile {
  path: string;
}

const require = createRequire(import.meta.url);
const {
  default: Sequencer,
}: {
  default: new (options: unknown) => { sort(tests: TestFile[]): Promise<TestFile[]> | TestFile[] };
} = require('@jest/test-sequencer');

/** What starts processes takes ten times as long as other files, and waits half of that time. */
const OF_PROCESSES = /^(tests\/(process|browser|deploy)|packages\/embedded-postgres)\//;
/** The last of these begins when so much of the others is done, so that none of them ends alone. */
const SPREAD_OVER = 0.8;

const root = path.resolve(import.meta.dirname, '../..');

/** Files of processes spread evenly among the others: what waits leaves the processor to what computes. */
export function mixed<T extends TestFile>(tests: readonly T[]): T[] {
  const isSlow = ({ path: file }: T): boolean => OF_PROCESSES.test(path.relative(root, file));
  const slow = tests.filter(isSlow);
  const others = tests.filter((test) => !isSlow(test));
  if (slow.length === 0) return others;
  const stride = (others.length * SPREAD_OVER) / slow.length;
  const gaps = slow.map((_, index) =>
    others.slice(Math.floor(index * stride), Math.floor((index + 1) * stride)),
  );
  const rest = others.slice(Math.floor(slow.length * stride));
  return [...slow.flatMap((test, index) => [test, ...(gaps[index] ?? [])]), ...rest];
}

/** Within both kinds as jest has it: what failed last, what took long, what is large. */
export default class MixedOrder extends Sequencer {
  override async sort(tests: TestFile[]): Promise<TestFile[]> {
    return mixed(await super.sort(tests));
  }
}
