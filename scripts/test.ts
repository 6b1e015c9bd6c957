// `npm test`: types, lint and format beside every test; `npm test -- <pattern>`: only the tests that match.
// Further arguments are passed to jest, except `--cpu`, which prints the CPU time of each file, and `--record`, which records
// how long each file takes. The last line is the count: 'N passed, N failed, N skipped'.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import { runJest } from './run-jest.ts';
import { childrenSeconds, LEDGER, ledgerReport } from './test-runner/cpu-ledger.ts';
import { recordDurations } from './test-runner/longest-first.ts';

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

/** A test file that could not even be loaded counts as one failure. */
function count(resultFile: string): { passed: number; failed: number; skipped: number } {
  try {
    const result: Record<string, number> = JSON.parse(readFileSync(resultFile, 'utf8'));
    const of = (key: string): number => result[key] ?? 0;
    return {
      passed: of('numPassedTests'),
      failed: of('numFailedTests') + of('numRuntimeErrorTestSuites'),
      skipped: of('numPendingTests') + of('numTodoTests'),
    };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

async function test(given: readonly string[]): Promise<{ ok: boolean; summary: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'acp-'));
  // Some tests make another account run files they put there.
  chmodSync(folder, 0o755);
  const resultFile = path.join(folder, 'results.json');
  const args = given.filter((arg) => !OWN.includes(arg));
  const ledger = given.includes('--cpu') ? path.join(folder, 'cpu.jsonl') : undefined;
  const atOnce = args.some((arg) => /^(--maxWorkers|-w|--runInBand|-i)\b/.test(arg))
    ? []
    : [`--maxWorkers=${workers()}`];
  try {
    // Files that tests leave in temporary folders are removed with them.
    const code = await runJest([...atOnce, '--json', `--outputFile=${resultFile}`, ...args], {
      TMPDIR: folder,
      [LEDGER]: ledger,
    });
    if (ledger !== undefined) console.log(ledgerReport(ledger));
    if (given.includes('--record')) console.log(`recorded: ${recordDurations(resultFile)} long files`);
    const { passed, failed, skipped } = count(resultFile);
    return {
      ok: code === 0 && failed === 0,
      summary: `${passed} passed, ${failed} failed, ${skipped} skipped`,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const args = process.argv.slice(2);
const isWhole = args.every((arg) => OWN.includes(arg));
if (args.includes('--record') && !isWhole) throw new Error('--record is for a run of all tests');
const [failures, { ok, summary }] = await Promise.all([isWhole ? checkAll() : [], test(args)]);
for (const failure of failures) console.log(failure);
if (args.includes('--cpu')) console.log(`everything: ${childrenSeconds().toFixed(0)} s of processor time`);
console.log(summary);
process.exitCode = ok && failures.length === 0 ? 0 : 1;
