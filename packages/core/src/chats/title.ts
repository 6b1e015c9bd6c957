const LONGEST = 60;

/** Derived from the first question or, if that is too short ("hi"), from its answer. Null: neither has any words. */
export function titleOf(question: string, answer: string): string | null {
  const asked = firstLine(question);
  return asked.split(' ').length >= 3 ? asked : firstLine(answer) || asked || null;
}

/** The first line with words, without Markdown, truncated between words. */
function firstLine(markdown: string): string {
  const line = markdown
    .slice(0, 4000)
    .split('\n')
    .map((each) =>
      each
        .replaceAll(/[*_`#>|~[\]]+/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .find((each) => /[\p{L}\p{N}]/u.test(each));
  if (line === undefined) return '';
  if (line.length <= LONGEST) return line.toWellFormed();
  const cut = line.slice(0, LONGEST);
  return `${cut
    .slice(0, Math.max(cut.lastIndexOf(' '), LONGEST / 2))
    .trimEnd()
    .toWellFormed()}…`;
}
