import { closesFence, type Fence, openingFence } from '@acp/contract';

/**
 * The text of a Markdown document outside of code: each fenced block or code span becomes a space, so that its neighbours don't
 * merge. Linear in the length of any text.
 */
export function withoutCode(markdown: string): string {
  return withoutFences(markdown)
    .split(/\n[ \t]*\n/)
    .map(withoutSpans)
    .join('\n\n');
}

function withoutFences(markdown: string): string {
  const kept: string[] = [];
  let fence: Fence | null = null;
  for (const line of markdown.split(/\r?\n/)) {
    if (fence === null) {
      fence = openingFence(line);
      kept.push(fence === null ? line : '');
    } else if (closesFence(line, fence)) fence = null;
  }
  return kept.join('\n');
}

/** A run of backticks opens a span that the next run of equal length closes; without one it is text. */
function withoutSpans(paragraph: string): string {
  const runs = [...paragraph.matchAll(/`+/g)];
  if (runs.length < 2) return paragraph;
  const nextOfLength = closers(runs);
  let text = '';
  let position = 0;
  for (let index = 0; index < runs.length; index += 1) {
    const run = runs[index]!;
    // A backslash escapes the first backtick, so the rest is not an opening of this length.
    if (paragraph[run.index - 1] === '\\') continue;
    const closer = nextOfLength[index];
    if (closer === undefined) continue;
    text += `${paragraph.slice(position, run.index)} `;
    position = runs[closer]!.index + runs[closer]![0].length;
    index = closer;
  }
  return text + paragraph.slice(position);
}

/** Index of the next run of equal length, for each run. */
function closers(runs: readonly RegExpExecArray[]): (number | undefined)[] {
  const latest = new Map<number, number>();
  const next = Array.from({ length: runs.length }, (): number | undefined => undefined);
  for (let index = runs.length - 1; index >= 0; index -= 1) {
    const length = runs[index]![0].length;
    next[index] = latest.get(length);
    latest.set(length, index);
  }
  return next;
}
