/**
 * `npm run bench -- --compare <ref>`: the same sections in this checkout and in one of `ref`, in alternating rounds, each
 * with its own code. Machines drift, so a figure is judged by its ratio within a round.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Comparison, compareRounds, type Measured, readFigures } from './comparison.ts';
import { root } from './service.ts';

const NAME_WIDTH = 50;

export interface CompareOptions {
  ref: string;
  rounds: number;
  /** Passed on to both: sections, `--smoke`. */
  args: readonly string[];
}

export async function compareWith({ ref, rounds, args }: CompareOptions): Promise<void> {
  const git = (...words: string[]): string =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
  const commit = git('rev-parse', '--verify', '--short', `${ref}^{commit}`);
  const folder = mkdtempSync(path.join(tmpdir(), 'acp-compare-'));
  const other = path.join(folder, 'checkout');
  git('worktree', 'add', '--quiet', '--detach', other, commit);
  // An interrupted run leaves no checkout behind.
  const remove = (): void => {
    git('worktree', 'remove', '--force', other);
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', remove);
  console.log(`this checkout against ${ref} (${commit}), ${rounds} rounds; a round of each takes a while`);
  const [here, there]: [Measured[], Measured[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    // The second run finds the machine warm, so the order alternates as well.
    const turns = [
      async () => here.push(await measure(root, args)),
      async () => there.push(await measure(other, args)),
    ];
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
    console.log(`round ${round + 1} of ${rounds} is done`);
  }
  for (const comparison of compareRounds(here, there)) console.log(line(comparison));
}

/** Runs the benchmark in that checkout through npm, which installs what it needs. */
async function measure(checkout: string, args: readonly string[]): Promise<Measured> {
  const child = spawn('npm', ['run', '--silent', 'bench', '--', ...args], {
    cwd: checkout,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // npm passes it on.
  const end = (): boolean => child.kill('SIGTERM');
  process.once('exit', end);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`the benchmark in ${checkout} ended with ${code}:\n${output.slice(-2000)}`);
  return readFigures(output);
}

function line({ name, unit, here, there, verdict, ratio }: Comparison): string {
  const figures = `${format(here)} ${unit} after ${format(there)} ${unit}`;
  if (ratio === undefined) return `  ${name.padEnd(NAME_WIDTH)} ${verdict.padEnd(7)} ${figures}`;
  const percent = (value: number): string => `${((value - 1) * 100).toFixed(1)} %`;
  return `  ${name.padEnd(NAME_WIDTH)} ${verdict.padEnd(7)} ${figures}, ${percent(ratio.middle)} (${percent(ratio.low)} to ${percent(ratio.high)})`;
}

const format = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));
