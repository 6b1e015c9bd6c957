import { isNestedDeeper, JoinedBytes, MAX_JSON_DEPTH } from '@acp/kernel';

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
  const line = new JoinedBytes();
  let length = 0;
  const take = (last: Buffer): string | undefined => {
    const isTooLong = length + last.length > limit;
    const bytes = line.takeWith(last);
    length = 0;
    return isTooLong ? undefined : bytes.toString('utf8').replace(/\r$/, '');
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      yield take(chunk.subarray(from, at));
      from = at + 1;
    }
    const rest = chunk.subarray(from);
    length += rest.length;
    if (length <= limit) line.add(rest);
    else line.take();
  }
  if (length > 0) yield take(Buffer.alloc(0));
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
