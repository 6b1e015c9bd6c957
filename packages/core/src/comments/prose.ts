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

/** CommonMark: at most three spaces, three or more of one marker; closed by at least as many, or by the end. */
function withoutFences(markdown: string): string {
  const kept: string[] = [];
  let fence: string | undefined;
  for (const line of markdown.split(/\r?\n/)) {
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    if (fence === undefined) {
      // The info string of a backtick fence contains no backtick; otherwise the line is a code span.
      const opens = mark !== null && !(mark[1]!.startsWith('`') && mark[2]!.includes('`'));
      if (opens) fence = mark[1];
      kept.push(opens ? '' : line);
    } else if (
      mark &&
      mark[2]!.trim() === '' &&
      mark[1]![0] === fence[0] &&
      mark[1]!.length >= fence.length
    ) {
      fence = undefined;
    }
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
