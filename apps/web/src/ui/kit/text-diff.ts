/** Differences between two texts, sentence by sentence. */
import { each, html, type Html } from './html.ts';

interface Piece {
  text: string;
  change: 'same' | 'added' | 'removed';
}

/** The cost grows with the product of both lengths: longer texts are shown as fully replaced. */
const MOST = 1500;

/** Splits into lines, and those into sentences; joined they are the text. */
function sentences(text: string): string[] {
  return (
    text.match(/[^\n.!?]*(?:[.!?](?!\s)[^\n.!?]*)*[.!?]*[ \t]*\n?/g)?.filter((part) => part !== '') ?? []
  );
}

/** The shortest edit from `before` to `after` by the longest common subsequence; removals come first. Pure. */
export function diffPieces(before: string, after: string): Piece[] {
  const [from, to] = [sentences(before), sentences(after)];
  if (from.length > MOST || to.length > MOST)
    return before === after
      ? [{ text: after, change: 'same' }]
      : [
          { text: before, change: 'removed' },
          { text: after, change: 'added' },
        ];
  const width = to.length + 1;
  const common = new Uint16Array((from.length + 1) * width);
  for (let a = from.length - 1; a >= 0; a -= 1)
    for (let b = to.length - 1; b >= 0; b -= 1)
      common[a * width + b] = alike(from[a]!, to[b]!)
        ? common[(a + 1) * width + b + 1]! + 1
        : Math.max(common[(a + 1) * width + b]!, common[a * width + b + 1]!);
  const pieces: Piece[] = [];
  const add = (text: string, change: Piece['change']): void => {
    const last = pieces.at(-1);
    if (last?.change === change) last.text += text;
    else pieces.push({ text, change });
  };
  let [a, b] = [0, 0];
  while (a < from.length || b < to.length) {
    if (a < from.length && b < to.length && alike(from[a]!, to[b]!)) {
      add(to[b]!, 'same');
      a += 1;
      b += 1;
    } else if (
      b === to.length ||
      (a < from.length && common[(a + 1) * width + b]! >= common[a * width + b + 1]!)
    ) {
      add(from[a]!, 'removed');
      a += 1;
    } else {
      add(to[b]!, 'added');
      b += 1;
    }
  }
  return pieces;
}

/** White space after a sentence is not a change. */
const alike = (a: string, b: string): boolean => a.trimEnd() === b.trimEnd();

export function textDiff(before: string, after: string): Html {
  const shown = { same: 'span', added: 'ins', removed: 'del' } as const;
  return html`<pre class="text-diff">
!${each(diffPieces(before, after), ({ text, change }) => `<${shown[change]}>${html`${text}`}</${shown[change]}>`)}</pre>`;
}
