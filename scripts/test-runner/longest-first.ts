// Jest's `testSequencer`: the longest files first, by `durations.json`, which `npm test -- --record` writes. A fresh checkout has
// none of jest's own durations, so it would start with the largest files, and a short one that starts a dozen processes would
// run last, with every other worker waiting for it. Most long files wait for processes: side by side they leave no core idle.
// With `--randomize`, by which jest shuffles the tests within a file, the files are shuffled too.
import { hash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

interface TestFile {
  path: string;
}

interface SequencerOptions {
  globalConfig: { randomize?: boolean; seed: number };
}

/** Seconds by test file, of those that take long. */
export type Durations = Readonly<Record<string, number>>;

const require = createRequire(import.meta.url);
const {
  default: Sequencer,
}: {
  default: new (options: SequencerOptions) => { sort(tests: TestFile[]): Promise<TestFile[]> | TestFile[] };
} = require('@jest/test-sequencer');

const root = path.resolve(import.meta.dirname, '../..');
const RECORD = path.join(import.meta.dirname, 'durations.json');
/** Shorter files are not recorded: their order hardly matters. */
const LEAST_SECONDS = 3;

/** Files that start processes take ten times as long as others. */
const OF_PROCESSES = /^(tests\/(process|browser|deploy)|packages\/embedded-postgres)\//;
const UNKNOWN_SECONDS = { ofProcesses: 15, other: 1 };

/** Files of the same duration keep their order. */
export function longestFirst<T extends TestFile>(tests: readonly T[], durations: Durations): T[] {
  const seconds = ({ path: file }: T): number => {
    const name = path.relative(root, file);
    return durations[name] ?? (OF_PROCESSES.test(name) ? UNKNOWN_SECONDS.ofProcesses : UNKNOWN_SECONDS.other);
  };
  return tests.toSorted((one, other) => seconds(other) - seconds(one));
}

/** Takes jest's JSON results. @returns the number of files that are worth recording */
export function recordDurations(resultFile: string): number {
  const { testResults }: { testResults: { name: string; startTime: number; endTime: number }[] } = JSON.parse(
    readFileSync(resultFile, 'utf8'),
  );
  const ran = testResults.map(({ name, startTime, endTime }): [string, number] => [
    path.relative(root, name),
    Math.round((endTime - startTime) / 1000),
  ]);
  const durations = durationsAfter(Object.fromEntries(ran), readDurations(), (file) =>
    existsSync(path.join(root, file)),
  );
  writeFileSync(RECORD, `${JSON.stringify(durations, null, 2)}\n`);
  return Object.keys(durations).length;
}

const readDurations = (): Durations => JSON.parse(readFileSync(RECORD, 'utf8'));

/** What is known of files that did not run stays: a whole run leaves drills out. */
export function durationsAfter(
  ran: Durations,
  before: Durations,
  exists: (file: string) => boolean,
): Durations {
  const long = Object.entries({ ...before, ...ran })
    .filter(([file, seconds]) => seconds >= LEAST_SECONDS && exists(file))
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(long);
}

/** The same order for the same seed. */
export function shuffled<T extends TestFile>(tests: readonly T[], seed: number): T[] {
  const places = new Map(
    tests.map((test) => [test, hash('sha256', `${seed} ${path.relative(root, test.path)}`)]),
  );
  return tests.toSorted((one, other) => (places.get(one)! < places.get(other)! ? -1 : 1));
}

export default class LongestFirst extends Sequencer {
  private readonly seed: number | undefined;

  constructor(options: SequencerOptions) {
    super(options);
    const { randomize, seed } = options.globalConfig;
    this.seed = randomize === true ? seed : undefined;
  }

  override async sort(tests: TestFile[]): Promise<TestFile[]> {
    if (this.seed !== undefined) return shuffled(tests, this.seed);
    return longestFirst(await super.sort(tests), readDurations());
  }
}
