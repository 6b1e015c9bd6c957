/** Payloads: what a webhook's bytes are in the database and in a comment. Pure. */
import { cutText } from '@acp/kernel';
import { textOf } from './template.ts';

// As deep as a JSON body may be elsewhere; what is deeper is kept as text.
const MAX_DEPTH = 64;
const LONGEST_COMMENT_BYTES = 100_000;

/**
 * The body of a request as JSON where it is that, else as text, and nothing where it is empty. What PostgreSQL can't
 * store (NUL, half a surrogate pair, bytes that are no UTF-8) is replaced by U+FFFD: a signed body is not refused for it.
 */
export function payloadOf(body: Uint8Array): unknown {
  if (body.length === 0) return null;
  const text = new TextDecoder().decode(body);
  try {
    return storable(JSON.parse(text), 0);
  } catch {
    return storableText(text);
  }
}

function storable(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return storableText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) throw new RangeError('nested too deeply');
  if (Array.isArray(value)) return value.map((item) => storable(item, depth + 1));
  // fromEntries defines fields: `__proto__` becomes one of them and nobody's prototype.
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [storableText(name), storable(inner, depth + 1)]),
  );
}

function storableText(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

/**
 * A payload as the comment of a coalesced fire: in a fence longer than any in it, so that nothing in it is Markdown or
 * mentions anybody; the routine's name too stands as code.
 */
export function payloadComment(routine_name: string, source: string, payload: unknown): string {
  const name = routine_name.replaceAll(/[`\s]+/g, ' ').trim();
  const head = `The routine \`${name}\` was fired again (${source})`;
  if (payload === null || payload === undefined) return `${head}.`;
  const text = cutText(textOf(payload), LONGEST_COMMENT_BYTES);
  let ticks = 2;
  for (const [run] of text.matchAll(/`+/g)) ticks = Math.max(ticks, run.length);
  const fence = '`'.repeat(ticks + 1);
  return `${head}:\n\n${fence}\n${text}\n${fence}`;
}
