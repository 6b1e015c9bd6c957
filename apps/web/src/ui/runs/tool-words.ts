/** What a tool of a program was called with, or came to, in a line: of all that is told the part that people look for. */

/** Names that programs give to what matters most of a call. */
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

/** Text, or blocks of which some are text. */
export function resultText(result: unknown): string {
  if (typeof result === 'string') return result;
  if (!Array.isArray(result)) return result === undefined ? '' : JSON.stringify(result, null, 2);
  return result
    .map((block: unknown) =>
      typeof block === 'object' && block !== null && 'text' in block
        ? String(block.text)
        : JSON.stringify(block),
    )
    .join('\n');
}

/** The first line that says something. */
export function line(text: string): string {
  const first = text.split('\n', 50).find((each) => each.trim() !== '') ?? '';
  return first.length <= LONGEST ? first.trim() : `${first.slice(0, LONGEST).toWellFormed().trim()}…`;
}
