// Jest's `testSequencer`. A fresh checkout has no durations, so jest would start with the largest files: a short file that
// starts a dozen processes would run last, with every other worker waiting for it.
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

/** Files that start processes take ten times as long as others, and spend half of that waiting. */
const OF_PROCESSES = /^(tests\/(process|browser|deploy)|packages\/embedded-postgres)\//;
/** The last of these starts once this share of the others is done, so that none of them finishes alone. */
const SPREAD_OVER = 0.8;

const root = path.resolve(import.meta.dirname, '../..');

/** Spreads process files evenly among the others: while they wait, the CPU is free for those that compute. */
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

/** Within both groups, jest's order: most recent failures, slowest, largest. */
export default class MixedOrder extends Sequencer {
  override async sort(tests: TestFile[]): Promise<TestFile[]> {
    return mixed(await super.sort(tests));
  }
}
