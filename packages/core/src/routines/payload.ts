/** Webhook payloads as stored in the database and shown in comments. Pure. */
import { cutText, mapTexts } from '@acp/kernel';
import { textOf } from './template.ts';

const LONGEST_COMMENT_BYTES = 100_000;

/**
 * A request body as JSON if possible, otherwise (also if nested too deeply) as text, and null if empty. What PostgreSQL can't
 * store (NUL, lone surrogates, invalid UTF-8) is replaced by U+FFFD: a signed body is not rejected because of it.
 */
export function payloadOf(body: Uint8Array): unknown {
  if (body.length === 0) return null;
  const text = new TextDecoder().decode(body);
  try {
    return mapTexts(JSON.parse(text), replaced);
  } catch {
    return replaced(text);
  }
}

function replaced(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

/**
 * A payload as the comment of a coalesced fire: inside a fence longer than any in it, so that none of it is interpreted as
 * Markdown or mentions; the routine's name is quoted as code too.
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
