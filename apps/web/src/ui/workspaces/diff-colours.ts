/** Highlights the lines of a diff: each side of a hunk is highlighted as a fragment of the file. */
import { html, type Html } from '../kit/html.ts';
import { highlightInTime } from '../kit/highlight-in-time.ts';
import { hasGrammar } from '../kit/markdown-rules.ts';
import type { DiffLine } from './read-patch.ts';

/** Limits per page, in characters and in time of the processor; the rest is not highlighted. Code takes some thirty milliseconds. */
const MOST = 40_000;
const MOST_MS = 200;

export type LineHtml = (line: DiffLine) => Html;

/** Highlighter for one page. */
export class DiffColours {
  #left = MOST;
  #left_ms = MOST_MS;

  /** Returns a function that maps each line to its escaped, highlighted text. */
  of(path: string, lines: readonly DiffLine[]): LineHtml {
    const language = languageOf(path);
    const coloured = new Map<DiffLine, Html>();
    if (hasGrammar(language))
      for (const hunk of hunksOf(lines)) {
        // Lines on both sides get the colours of the file's current version.
        this.#colour(hunk, 'removed', language, coloured);
        this.#colour(hunk, 'added', language, coloured);
      }
    return (line) => coloured.get(line) ?? html`${line.text}`;
  }

  #colour(
    hunk: readonly DiffLine[],
    kind: 'added' | 'removed',
    language: string,
    coloured: Map<DiffLine, Html>,
  ): void {
    const side = hunk.filter((line) => line.kind === kind || line.kind === 'context');
    if (kind === 'removed' && side.every((line) => line.kind === 'context')) return;
    const code = side.map(({ text }) => text).join('\n');
    this.#left -= code.length;
    if (this.#left < 0 || this.#left_ms < 0) return;
    const before = process.threadCpuUsage();
    const highlighted = highlightInTime(code, language);
    const { user, system } = process.threadCpuUsage(before);
    this.#left_ms -= (user + system) / 1000;
    if (highlighted === '') return;
    for (const [at, text] of linesOf(highlighted).entries()) coloured.set(side[at]!, text);
  }
}

function hunksOf(lines: readonly DiffLine[]): DiffLine[][] {
  const hunks: DiffLine[][] = [[]];
  for (const line of lines)
    if (line.kind === 'hunk') hunks.push([]);
    else hunks.at(-1)!.push(line);
  return hunks;
}

/** A file's extension is the name or an alias of its language. */
function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  if (name === 'makefile') return name;
  const dot = name.lastIndexOf('.');
  return dot < 1 ? '' : name.slice(dot + 1);
}

/** Splits into lines; a span across several lines is closed at the end of each, and reopened. */
function linesOf(coloured: string): string[] {
  const open: string[] = [];
  return coloured.split('\n').map((line) => {
    const before = open.join('');
    for (const [tag] of line.matchAll(/<span [^>]*>|<\/span>/g))
      if (tag === '</span>') open.pop();
      else open.push(tag);
    return `${before}${line}${'</span>'.repeat(open.length)}`;
  });
}
