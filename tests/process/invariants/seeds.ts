import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Seeds used by `npm test`; INVARIANT_SEEDS overrides them with a comma-separated list. */
const FIXED = [2, 5];
const asked = process.env.INVARIANT_SEEDS;

export function seeds(): number[] {
  return asked === undefined ? FIXED : asked.split(',').map(Number);
}

/** For anyone who runs many seeds and wants to know that each did a lot. */
export function printSummary(seed: number, lines: readonly string[]): void {
  if (asked !== undefined)
    process.stdout.write(`seed ${seed}\n${lines.map((line) => `  ${line}\n`).join('')}`);
}

/** Writes the history of a violation, to help find its cause. @returns the file */
export function writeReport(seed: number, text: string): string {
  const file = path.join(tmpdir(), `invariants-seed-${seed}.log`);
  writeFileSync(file, text);
  return file;
}
