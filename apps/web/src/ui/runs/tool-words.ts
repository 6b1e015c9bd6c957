/** A program's tool call or its result in one line: the part of the data that people look for. */
import { readableJson } from '@acp/kernel';

/** Names that programs use for the most important argument of a call. */
const subjects = ['command', 'file_path', 'path', 'pattern', 'query', 'url', 'prompt', 'description'];
const LONGEST = 160;

export function toolWords({ command, input, detail, message }: Record<string, unknown>): string {
  const about = command ?? input ?? detail ?? message;
  if (typeof about === 'string') return line(about);
  if (about === null || typeof about !== 'object') return '';
  const named = subjects.map((name) => (about as Record<string, unknown>)[name]);
  const said = named.find((value) => typeof value === 'string' || Array.isArray(value));
  return said === undefined ? line(JSON.stringify(about)) : line([said].flat().join(' '));
}

/** The result as text; it may consist of blocks, some of which are text. */
export function resultText(result: unknown): string {
  if (typeof result === 'string') return result;
  if (!Array.isArray(result)) return readableJson(result);
  return result
    .map((block: unknown) =>
      typeof block === 'object' && block !== null && 'text' in block
        ? String(block.text)
        : JSON.stringify(block),
    )
    .join('\n');
}

/** The first line that is not blank. */
export function line(text: string): string {
  const first = text.split('\n', 50).find((each) => each.trim() !== '') ?? '';
  return first.length <= LONGEST ? first.trim() : `${first.slice(0, LONGEST).toWellFormed().trim()}…`;
}
