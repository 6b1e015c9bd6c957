/** Differences between two texts, sentence by sentence. */
import { each, html, type Html } from './html.ts';

interface Piece {
  text: string;
  change: 'same' | 'added' | 'removed';
}

/**
 * The cost grows with the product of what differs in both texts, and a page may show dozens of differences: beyond this product, it is
 * shown as replaced.
 */
const MOST_PAIRS = 500_000;

/** Splits into lines, and those into sentences; joined they are the text. A regular expression that passes megabytes of blanks may overflow. */
function sentences(text: string): string[] {
  const found: string[] = [];
  let from = 0;
  for (const { 0: end, index } of text.matchAll(/\n|[.!?](?=[ \t])/g)) {
    let at = index + 1;
    if (end !== '\n') while (text[at] === ' ' || text[at] === '\t') at += 1;
    // Of a sentence that ends its line, the line break decides.
    if (end !== '\n' && text[at] === '\n') continue;
    found.push(text.slice(from, at));
    from = at;
  }
  return from < text.length ? [...found, text.slice(from)] : found;
}

/** The shortest edit from `before` to `after` by the longest common subsequence; removals come first. Pure. */
export function diffPieces(before: string, after: string): Piece[] {
  const [from, to] = [sentences(before), sentences(after)];
  const number = numbering();
  const [a, b] = [from.map(number), to.map(number)];
  const shortest = Math.min(a.length, b.length);
  let head = 0;
  while (head < shortest && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < shortest - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const pieces: Piece[] = [];
  const add = (text: string, change: Piece['change']): void => {
    const last = pieces.at(-1);
    if (text === '') return;
    if (last?.change === change) last.text += text;
    else pieces.push({ text, change });
  };
  add(to.slice(0, head).join(''), 'same');
  const [gone, come] = [from.slice(head, from.length - tail), to.slice(head, to.length - tail)];
  const edit = shortestEdit(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  let [at, on] = [0, 0];
  for (const change of edit) {
    add(change === 'removed' ? gone[at]! : come[on]!, change);
    if (change !== 'added') at += 1;
    if (change !== 'removed') on += 1;
  }
  add(to.slice(to.length - tail).join(''), 'same');
  return pieces;
}

/** Equal sentences get equal numbers, which are compared in no time. White space after a sentence is not a change. */
function numbering(): (sentence: string) => number {
  const known = new Map<string, number>();
  return (sentence) => {
    const bare = sentence.trimEnd();
    const number = known.get(bare) ?? known.size;
    known.set(bare, number);
    return number;
  };
}

function shortestEdit(from: readonly number[], to: readonly number[]): Piece['change'][] {
  if (from.length * to.length > MOST_PAIRS)
    return [...from.map(() => 'removed' as const), ...to.map(() => 'added' as const)];
  const width = to.length + 1;
  const common = new Uint32Array((from.length + 1) * width);
  for (let a = from.length - 1; a >= 0; a -= 1)
    for (let b = to.length - 1; b >= 0; b -= 1)
      common[a * width + b] =
        from[a] === to[b]
          ? common[(a + 1) * width + b + 1]! + 1
          : Math.max(common[(a + 1) * width + b]!, common[a * width + b + 1]!);
  const edit: Piece['change'][] = [];
  let [a, b] = [0, 0];
  while (a < from.length || b < to.length) {
    if (a < from.length && b < to.length && from[a] === to[b]) {
      edit.push('same');
      a += 1;
      b += 1;
    } else if (
      b === to.length ||
      (a < from.length && common[(a + 1) * width + b]! >= common[a * width + b + 1]!)
    ) {
      edit.push('removed');
      a += 1;
    } else {
      edit.push('added');
      b += 1;
    }
  }
  return edit;
}

export function textDiff(before: string, after: string): Html {
  const shown = { same: 'span', added: 'ins', removed: 'del' } as const;
  return html`<pre class="text-diff">
!${each(diffPieces(before, after), ({ text, change }) => `<${shown[change]}>${html`${text}`}</${shown[change]}>`)}</pre>`;
}
