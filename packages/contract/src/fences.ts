// Code fences as in CommonMark: three or more backticks or tildes, indented by at most three spaces.

export interface Fence {
  char: '`' | '~';
  length: number;
  indent: number;
}

function runOf(line: string, at: number, char: string): number {
  let end = at;
  while (line[end] === char) end += 1;
  return end - at;
}

function indentOf(line: string): number {
  return runOf(line, 0, ' ');
}

/** The fence that this line opens, or null. A backtick fence can't have backticks in its info string. */
export function openingFence(line: string): Fence | null {
  const indent = indentOf(line);
  const char = line[indent];
  if (indent > 3 || (char !== '`' && char !== '~')) return null;
  const length = runOf(line, indent, char);
  if (length < 3 || (char === '`' && line.includes('`', indent + length))) return null;
  return { char, length, indent };
}

export function closesFence(line: string, fence: Fence): boolean {
  const indent = indentOf(line);
  if (indent > 3 || line[indent] !== fence.char) return false;
  const length = runOf(line, indent, fence.char);
  return length >= fence.length && line.slice(indent + length).trim() === '';
}

/**
 * Finds the end of a verb's body. Models write code blocks in it without making the body's own fence longer: one that names its
 * language can't be the body's end (CommonMark), so it is a block of its own, and the next bare fence is its end.
 */
export class BodyEnd {
  readonly #fence: Fence;
  #blocks = 0;

  constructor(fence: Fence) {
    this.#fence = fence;
  }

  /** Takes the lines after the opening fence one by one. @returns whether this is the closing one */
  isAt(line: string): boolean {
    if (closesFence(line, this.#fence)) {
      this.#blocks -= 1;
      return this.#blocks < 0;
    }
    const inner = openingFence(line);
    if (inner !== null && inner.char === this.#fence.char && inner.length >= this.#fence.length)
      this.#blocks += 1;
    return false;
  }
}

/** A line of a fenced block, with the opening fence's indentation removed. */
export function dedent(line: string, fence: Fence): string {
  return line.slice(Math.min(indentOf(line), fence.indent));
}
