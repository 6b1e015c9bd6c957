import { MAX_JSON_DEPTH } from '@acp/kernel';

/** Longer lines are left out: the CLIs' own stay below 1 MB. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

const NEWLINE = 0x0a;
/** Leaves room for what an entry of the transcript puts around it. */
const MAX_DEPTH = MAX_JSON_DEPTH - 8;

/**
 * Lines of a byte stream, without their ends; also the last one without. Each is decoded as a whole, so that no
 * character is torn at the border of two chunks. Of a line that is too long undefined is given.
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

/** The object that a line holds; undefined for any other text, and for one that is nested too deeply to be walked. */
export function jsonObject(line: string): Record<string, unknown> | undefined {
  if (!line.trimStart().startsWith('{') || isTooDeep(line)) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Looked at before it is parsed: millions of brackets would become as many arrays. */
function isTooDeep(json: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < json.length; at += 1) {
    const unit = json.charCodeAt(at);
    if (quoted) {
      if (unit === BACKSLASH) at += 1;
      else if (unit === QUOTE) quoted = false;
    } else if (unit === QUOTE) quoted = true;
    else if (unit === 0x5b || unit === 0x7b) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (unit === 0x5d || unit === 0x7d) depth -= 1;
  }
  return false;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
