import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The seeds of `npm test`; INVARIANT_SEEDS names others: a comma list. */
const FIXED = [2, 5];
const asked = process.env.INVARIANT_SEEDS;

export function seeds(): number[] {
  return asked === undefined ? FIXED : asked.split(',').map(Number);
}

/** For who runs many, and wants to know that much happened in each. */
export function tellSummary(seed: number, lines: readonly string[]): void {
  if (asked !== undefined)
    process.stdout.write(`seed ${seed}\n${lines.map((line) => `  ${line}\n`).join('')}`);
}

/** What led to a violation, for who looks for the cause. @returns the file */
export function writeReport(seed: number, text: string): string {
  const file = path.join(tmpdir(), `invariants-seed-${seed}.log`);
  writeFileSync(file, text);
  return file;
}
