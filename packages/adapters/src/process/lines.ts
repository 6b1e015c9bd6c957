import { isNestedDeeper, MAX_JSON_DEPTH } from '@acp/kernel';

/** Longer lines are skipped: the CLIs' own stay below 1 MB. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

const NEWLINE = 0x0a;
/** Leaves room for what a transcript entry wraps around it. */
const MAX_DEPTH = MAX_JSON_DEPTH - 8;

/**
 * Splits a byte stream into lines without line ends, including an unterminated last one. Each line is decoded as a whole, so no
 * character is split between chunks. Yields undefined for a line that is too long.
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  limit = MAX_LINE_BYTES,
): AsyncGenerator<string | undefined, void> {
  let parts: Buffer[] = [];
  let length = 0;
  const take = (): string | undefined => {
    const line = length > limit ? undefined : Buffer.concat(parts).toString('utf8').replace(/\r$/, '');
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      keep(chunk.subarray(from, at));
      yield take();
      from = at + 1;
    }
    keep(chunk.subarray(from));
  }
  if (length > 0) yield take();

  function keep(part: Buffer): void {
    length += part.length;
    if (length <= limit) parts.push(part);
    else parts = [];
  }
}

/** Parses a line as an object; undefined for any other text, and for one nested too deeply. */
export function jsonObject(line: string): Record<string, unknown> | undefined {
  if (!line.trimStart().startsWith('{') || isNestedDeeper(line, MAX_DEPTH)) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
