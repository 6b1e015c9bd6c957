import { JsonDepth, MAX_JSON_DEPTH } from './json-depth.ts';

/** The text, or its longest prefix of at most `bytes` bytes of UTF-8; never splits a character. */
export function cutText(text: string, bytes: number): string {
  // A UTF-16 unit takes at most three bytes, so short texts need no encoding.
  if (text.length * 3 <= bytes) return text;
  const encoded = Buffer.from(text.slice(0, bytes), 'utf8');
  if (encoded.length <= bytes) return text.length <= bytes ? text : encoded.toString('utf8');
  let end = bytes;
  // Continuation bytes are 10xxxxxx: go back to the first byte of the character at the limit.
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end);
}

/** Makes text from models and programs storable in PostgreSQL, as text and jsonb: no NUL, no lone surrogates. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/**
 * Applies `clean` to every string in a JSON value, including field names. Numbers that JSON can't express (`1e400` is parsed as
 * Infinity) become null, as they would when written.
 * @throws RangeError if it is nested more deeply than MAX_JSON_DEPTH.
 */
export function mapTexts(value: unknown, clean: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return clean(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_JSON_DEPTH) throw new RangeError('nested too deeply');
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, clean, depth + 1));
  // fromEntries defines fields, so `__proto__` becomes an ordinary one.
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [clean(name), mapTexts(inner, clean, depth + 1)]),
  );
}

/** How many times as long indentation may make it. */
const MOST_INDENTATION = 4;

/** JSON for people and models to read: indented, unless it is nested so deeply that it would become many times as long. */
export function readableJson(value: unknown): string {
  const compact = JSON.stringify(value) ?? '';
  const lines = compact.match(/[,[{]/g)?.length ?? 0;
  const deepest = 2 * new JsonDepth().read(Buffer.from(compact)) + 1;
  if (lines * deepest > MOST_INDENTATION * compact.length) return compact;
  return JSON.stringify(value, null, 2) ?? '';
}

// Controls, line and paragraph separators, marks that reorder what follows, lone surrogates.
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * For terminals, which obey control sequences: whatever could move the cursor, set a title, break the line or reorder it is
 * written as an escape. Remains valid JSON if it was.
 */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** At most `limit` characters, with a note about what was cut. Never splits a surrogate pair. */
export function bounded(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const kept = text.slice(0, limit).replace(/[\ud800-\udbff]$/, '');
  return `${kept}\n[… ${text.length - kept.length} more characters left out]`;
}
