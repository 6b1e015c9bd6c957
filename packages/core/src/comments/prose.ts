/**
 * The text of a Markdown document outside of code: fenced blocks and code spans become a space each, so that what
 * stands beside them does not grow together. Linear in the length of the text, whatever it is made of.
 */
export function withoutCode(markdown: string): string {
  return withoutFences(markdown)
    .split(/\n[ \t]*\n/)
    .map(withoutSpans)
    .join('\n\n');
}

/** CommonMark: up to three blanks, three or more of one mark; closed by as many at least, or by the end. */
function withoutFences(markdown: string): string {
  const kept: string[] = [];
  let fence: string | undefined;
  for (const line of markdown.split(/\r?\n/)) {
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    if (fence === undefined) {
      // The info string of a backtick fence has no backtick: else the line is a code span.
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

/** A run of backticks opens a span that the next run of the same length closes; without one it is text. */
function withoutSpans(paragraph: string): string {
  const runs = [...paragraph.matchAll(/`+/g)];
  if (runs.length < 2) return paragraph;
  const nextOfLength = closers(runs);
  let text = '';
  let position = 0;
  for (let index = 0; index < runs.length; index += 1) {
    const run = runs[index]!;
    // A backslash makes the first backtick a letter: what follows it is no opening of this length.
    if (paragraph[run.index - 1] === '\\') continue;
    const closer = nextOfLength[index];
    if (closer === undefined) continue;
    text += `${paragraph.slice(position, run.index)} `;
    position = runs[closer]!.index + runs[closer]![0].length;
    index = closer;
  }
  return text + paragraph.slice(position);
}

/** For each run the number of the next one of the same length. */
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
