/** Hunks as `diff -u` writes them, line by line. Pure, and linear: a patch is what a program left behind. */

export interface DiffLine {
  kind: 'hunk' | 'context' | 'added' | 'removed' | 'note';
  /** Number in the file before and after, from 1; null where the line is not there. */
  old: number | null;
  new: number | null;
  text: string;
}

const HUNK = /^@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@ ?/;

/** Columns: what is longer was not written by hand, and nobody reads it here. */
const LONGEST_LINE = 1000;

/** @param most lines; what is beyond them is counted alone */
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

/** A line of the two columns: what was there, and what is there now. */
export interface DiffPair {
  before: DiffLine | null;
  after: DiffLine | null;
}

/** Removed lines beside those that came in their place. A hunk's head and notes stand on both sides. */
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
    // The remark that a line has no end stands between the two.
    else if (line.kind !== 'note') {
      flush();
      pairs.push({ before: line, after: line });
    }
  }
  flush();
  return pairs;
}
