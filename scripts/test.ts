// `npm test`: types, lint and format beside every test but the drills; `npm test -- <pattern>`: only the tests that match, drills
// included. `npm run test:drills`: all drills.
// Further arguments are passed to jest, except `--cpu`, which prints the CPU time of each file, and `--record`, which records
// how long each file takes. The last line is the count: 'N passed, N failed, N skipped'.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import { runJest } from './run-jest.ts';
import { childrenSeconds, LEDGER, ledgerReport } from './test-runner/cpu-ledger.ts';
import { recordDurations } from './test-runner/longest-first.ts';
import { readResults, type TestRun, totals, worthRepeating } from './test-runner/results.ts';

interface Outcome {
  code: number;
  output: string;
}

const root = path.resolve(import.meta.dirname, '..');
const bin = path.join(root, 'node_modules/.bin');
// The tools' launchers look up `node` by name, and the system's own may be too old.
const env = { ...process.env, PATH: `${bin}${path.delimiter}${process.env.PATH ?? ''}` };

/** Options of ours; jest would refuse them. */
const OWN = ['--cpu', '--record'];

/** What a run of all tests leaves out: drills (docs/adr/0060), and what jest leaves out by default. */
const LEFT_OUT = [String.raw`\.drill\.test\.ts$`, '/node_modules/'].map(
  (each) => `--testPathIgnorePatterns=${each}`,
);

/** A worker of jest grows to nearly a gigabyte, and what its tests start needs room, too. */
const WORKER_BYTES = 1.5 * 2 ** 30;

/**
 * tsc and the type-aware linter are Go programs: each further thread would repeat part of the others' checks, and rarer garbage
 * collections cost them no more memory. The lint takes 11 s of processor time instead of 25.
 */
const FRUGAL_GO = { GOMAXPROCS: '1', GOGC: '400' };

const CHECKS = [
  { name: 'types', command: ['tsc', '-b', '--singleThreaded'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'format', command: ['oxfmt', '--check', '--threads=1'] },
];

function run([name = '', ...args]: readonly string[]): Promise<Outcome> {
  // Tests have deadlines, checks don't: a test that wants the same core gets three times as much of it.
  const child = spawn('nice', ['-n', '5', path.join(bin, name), ...args], {
    cwd: root,
    env: { ...env, ...FRUGAL_GO },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // An interrupt of this process is meant for the child, which cleans up after itself.
  const forward = (signal: NodeJS.Signals): boolean => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, forward);
  let output = '';
  const collect = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  return new Promise((resolve) => {
    const settle = (code: number): void => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, forward);
      resolve({ code, output });
    };
    child.once('error', (err) => {
      output += err.message;
      settle(1);
    });
    child.once('close', (code) => settle(code ?? 1));
  });
}

/** @returns what to say about the check at the end, if it fails */
async function check({ name, command }: (typeof CHECKS)[number]): Promise<string | undefined> {
  const begin = performance.now();
  const { code, output } = await run(command);
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  console.log(`${name}: ${code === 0 ? 'ok' : 'FAILED'} (${seconds} s)`);
  return code === 0 ? undefined : `${output.trimEnd()}\n${name}: FAILED (${command.join(' ')})`;
}

/** One after the other: together they would need gigabytes, and the tests beside them use the other cores. */
async function checkAll(): Promise<string[]> {
  const failures: string[] = [];
  for (const each of CHECKS) {
    const failure = await check(each);
    if (failure !== undefined) failures.push(failure);
  }
  return failures;
}

/** Two more than there are cores, because half of the time a test waits for processes. */
function workers(): number {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  return Math.max(2, Math.min(availableParallelism() + 2, Math.floor(memory / WORKER_BYTES)));
}

async function test(args: readonly string[], { ledger = false, record = false } = {}): Promise<TestRun> {
  const folder = mkdtempSync(path.join(tmpdir(), 'acp-'));
  // Some tests make another account run files they put there.
  chmodSync(folder, 0o755);
  const resultFile = path.join(folder, 'results.json');
  const ledgerFile = ledger ? path.join(folder, 'cpu.jsonl') : undefined;
  const atOnce = args.some((arg) => /^(--maxWorkers|-w|--runInBand|-i)\b/.test(arg))
    ? []
    : [`--maxWorkers=${workers()}`];
  try {
    // Files that tests leave in temporary folders are removed with them.
    const code = await runJest([...atOnce, '--json', `--outputFile=${resultFile}`, ...args], {
      TMPDIR: folder,
      [LEDGER]: ledgerFile,
    });
    if (ledgerFile !== undefined) console.log(ledgerReport(ledgerFile));
    if (record) console.log(`recorded: ${recordDurations(resultFile)} long files`);
    return { code, files: readResults(resultFile) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A file that failed beside hundreds of others runs once more, alone (ADR 54). Failing twice is failing; so is a run in which more
 * than a few fail.
 */
async function testAgain(first: TestRun): Promise<TestRun> {
  const again = worthRepeating(first);
  if (again.length === 0) return first;
  const names = (paths: readonly string[]) => paths.map((file) => path.relative(root, file)).join(', ');
  console.log(`once more, alone: ${names(again)}`);
  const second = await test(['--maxWorkers=1', '--runTestsByPath', ...again]);
  const unsteady = again.filter((file) => second.files.get(file)?.failed === 0);
  if (unsteady.length > 0) console.log(`UNSTEADY, failed among others and passed alone: ${names(unsteady)}`);
  return { code: second.code, files: new Map([...first.files, ...second.files]) };
}

const args = process.argv.slice(2);
const isWhole = args.every((arg) => OWN.includes(arg));
const given = args.filter((arg) => !OWN.includes(arg));
const options = { ledger: args.includes('--cpu'), record: args.includes('--record') };
const [failures, first] = await Promise.all([
  isWhole ? checkAll() : [],
  test(isWhole ? LEFT_OUT : given, options),
]);
const { code, files } = isWhole ? await testAgain(first) : first;
for (const failure of failures) console.log(failure);
if (options.ledger) console.log(`everything: ${childrenSeconds().toFixed(0)} s of processor time`);
const { passed, failed, skipped } = totals(files);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = code === 0 && failed === 0 && failures.length === 0 ? 0 : 1;
