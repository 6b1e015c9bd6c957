const LONGEST = 60;

/** From the first exchange: what was asked, or, where that says little ("hi"), what was answered. Null: neither says anything. */
export function titleOf(question: string, answer: string): string | null {
  const asked = firstLine(question);
  return asked.split(' ').length >= 3 ? asked : firstLine(answer) || asked || null;
}

/** The first line that has words, without Markdown, cut between words. */
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
