/** Lines of a diff in the colours of their language: each side of a hunk is read as the piece of a file that it is. */
import { html, type Html } from '../kit/html.ts';
import { highlight } from '../kit/markdown-rules.ts';
import type { DiffLine } from './read-patch.ts';

/** Of a page, in characters; what comes after has one colour. So much takes some thirty milliseconds. */
const MOST = 40_000;

export type LineHtml = (line: DiffLine) => Html;

/** Of one page. */
export class DiffColours {
  #left = MOST;

  /** The text of each line, escaped, as it is to be shown. */
  of(path: string, lines: readonly DiffLine[]): LineHtml {
    const language = languageOf(path);
    const coloured = new Map<DiffLine, Html>();
    if (language !== '')
      for (const hunk of hunksOf(lines)) {
        // What is on both sides has the colours of the file as it is now.
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
    if (this.#left < 0) return;
    const told = highlight(code, language);
    if (told === '') return;
    for (const [at, text] of linesOf(told).entries()) coloured.set(side[at]!, text);
  }
}

function hunksOf(lines: readonly DiffLine[]): DiffLine[][] {
  const hunks: DiffLine[][] = [[]];
  for (const line of lines)
    if (line.kind === 'hunk') hunks.push([]);
    else hunks.at(-1)!.push(line);
  return hunks;
}

/** What a file's name ends with is what its language is called, or goes by. */
function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  if (name === 'makefile') return name;
  const dot = name.lastIndexOf('.');
  return dot < 1 ? '' : name.slice(dot + 1);
}

/** A span that goes over several lines is closed at the end of each, and opened again. */
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
