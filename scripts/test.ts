// `npm test`: types, lint and format, then every test; `npm test -- <pattern>`: only the tests that match.
// Further arguments are passed to jest, except `--cpu`, which prints the CPU time of each file. The last line is the count:
// 'N passed, N failed, N skipped'.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runJest } from './run-jest.ts';
import { childrenSeconds, LEDGER, ledgerReport } from './test-runner/cpu-ledger.ts';

interface Outcome {
  code: number;
  output: string;
}

const root = path.resolve(import.meta.dirname, '..');
const bin = path.join(root, 'node_modules/.bin');
// The tools' launchers look up `node` by name, and the system's own may be too old.
const env = { ...process.env, PATH: `${bin}${path.delimiter}${process.env.PATH ?? ''}` };

const CHECKS = [
  // Each thread would repeat part of the others' checks: a single one uses half the CPU in all, and lint takes longer anyway.
  { name: 'types', command: ['tsc', '-b', '--singleThreaded'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  {
    name: 'format',
    command: ['prettier', '--check', '--log-level=warn', '--cache', '--cache-location=.build/prettier', '.'],
  },
];

function run([name = '', ...args]: readonly string[]): Promise<Outcome> {
  const child = spawn(path.join(bin, name), args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
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

async function check({ name, command }: (typeof CHECKS)[number]): Promise<boolean> {
  const begin = performance.now();
  const { code, output } = await run(command);
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  console.log(
    code === 0 ? `${name}: ok (${seconds} s)` : `${output.trimEnd()}\n${name}: FAILED (${command.join(' ')})`,
  );
  return code === 0;
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
  const args = given.filter((arg) => arg !== '--cpu');
  const ledger = args.length < given.length ? path.join(folder, 'cpu.jsonl') : undefined;
  // On two cores jest would choose one worker; many tests spend half of their time waiting for processes.
  const workers = args.some((arg) => /^(--maxWorkers|-w|--runInBand|-i)\b/.test(arg))
    ? []
    : ['--maxWorkers=3'];
  try {
    // Files that tests leave in temporary folders are removed with them.
    const code = await runJest([...workers, '--json', `--outputFile=${resultFile}`, ...args], {
      TMPDIR: folder,
      [LEDGER]: ledger,
    });
    if (ledger !== undefined) console.log(ledgerReport(ledger));
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
const checked = args.every((arg) => arg === '--cpu') ? await Promise.all(CHECKS.map(check)) : [];
const { ok, summary } = await test(args);
const broken = CHECKS.filter((_, index) => checked[index] === false).map(({ name }) => name);
if (broken.length > 0) console.log(`failed before the tests: ${broken.join(', ')}`);
if (args.includes('--cpu')) console.log(`everything: ${childrenSeconds().toFixed(0)} s of processor time`);
console.log(summary);
process.exitCode = ok && broken.length === 0 ? 0 : 1;
