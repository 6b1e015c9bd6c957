import { MAX_JSON_DEPTH } from './json-depth.ts';

/** The text, or its longest beginning that takes at most `bytes` of UTF-8; no character is cut in two. */
export function cutText(text: string, bytes: number): string {
  // A UTF-16 unit takes three bytes at most, so short texts need no look.
  if (text.length * 3 <= bytes) return text;
  const encoded = Buffer.from(text.slice(0, bytes), 'utf8');
  if (encoded.length <= bytes) return text.length <= bytes ? text : encoded.toString('utf8');
  let end = bytes;
  // Continuation bytes are 10xxxxxx: back to the first byte of the character that lies across the limit.
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end);
}

/** Text of models and programs as PostgreSQL can hold it, in text and in jsonb: no NUL, no half surrogate pairs. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/**
 * A JSON value with every text in it, names of fields too, as `clean` makes it.
 * @throws RangeError for one that is nested more deeply than MAX_JSON_DEPTH.
 */
export function mapTexts(value: unknown, clean: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return clean(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_JSON_DEPTH) throw new RangeError('nested too deeply');
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, clean, depth + 1));
  // fromEntries defines fields: `__proto__` becomes one of them and nobody's prototype.
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [clean(name), mapTexts(inner, clean, depth + 1)]),
  );
}

/** At most `limit` characters; what is cut off is said. Never tears a surrogate pair. */
export function bounded(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const kept = text.slice(0, limit).replace(/[\ud800-\udbff]$/, '');
  return `${kept}\n[… ${text.length - kept.length} more characters left out]`;
}
