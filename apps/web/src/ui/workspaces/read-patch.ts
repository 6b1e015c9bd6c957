/** Parses hunks as written by `diff -u`, line by line. Pure and linear: patches are left by programs, thus untrusted. */

export interface DiffLine {
  kind: 'hunk' | 'context' | 'added' | 'removed' | 'note';
  /** Line number before and after, from 1; null if the line does not exist there. */
  old: number | null;
  new: number | null;
  text: string;
}

const HUNK = /^@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@ ?/;

/** In columns: longer lines are not written by hand, and no one reads them here. */
const LONGEST_LINE = 1000;

/** @param most lines; further ones are only counted */
export function readPatch(patch: string, most: number): { lines: DiffLine[]; left_out: number } {
  const lines: DiffLine[] = [];
  let [before, after] = [1, 1];
  let left_out = 0;
  for (const line of linesOf(patch)) {
    if (lines.length >= most) {
      left_out += 1;
      continue;
    }
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      lines.push({ kind: 'hunk', old: null, new: null, text: cut(line) });
      continue;
    }
    const text = cut(line.slice(1));
    if (line.startsWith('+')) lines.push({ kind: 'added', old: null, new: after++, text });
    else if (line.startsWith('-')) lines.push({ kind: 'removed', old: before++, new: null, text });
    // `\ No newline at end of file`
    else if (line.startsWith('\\')) lines.push({ kind: 'note', old: null, new: null, text: text.trim() });
    else lines.push({ kind: 'context', old: before++, new: after++, text });
  }
  return { lines, left_out };
}

function linesOf(patch: string): string[] {
  const lines = patch.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function cut(line: string): string {
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE).toWellFormed()}…` : line;
}

/** A row of the two columns: the line before, and the one after. */
export interface DiffPair {
  before: DiffLine | null;
  after: DiffLine | null;
}

/** Pairs removed lines with those that replaced them. Hunk headers appear on both sides. */
export function inPairs(lines: readonly DiffLine[]): DiffPair[] {
  const pairs: DiffPair[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1)
      pairs.push({ before: removed[at] ?? null, after: added[at] ?? null });
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.kind === 'removed') {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.kind === 'added') added.push(line);
    // A note about a missing final line break may be between the two: it is skipped.
    else if (line.kind !== 'note') {
      flush();
      pairs.push({ before: line, after: line });
    }
  }
  flush();
  return pairs;
}
