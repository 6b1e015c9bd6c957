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

/** A line of a fenced block, with the opening fence's indentation removed. */
export function dedent(line: string, fence: Fence): string {
  return line.slice(Math.min(indentOf(line), fence.indent));
}
