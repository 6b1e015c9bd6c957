import { readVerbLine } from '@acp/contract';
import { bounded } from '@acp/kernel';

const tags = [
  'issue_body',
  'comment',
  'answer',
  'attachment',
  'goal',
  'project',
  'own_answer',
  'payload',
  'question',
  'result',
  'profile',
  'note',
  'knowledge',
  'skill',
  'user_model',
  'said_before',
  'message',
  'done',
  'present_prompt',
  'rehearsal',
  'delivered',
  'refused_approval',
  'failed_verb',
  'feedback',
] as const;
export type Tag = (typeof tags)[number];

const lookalike = new RegExp(`<(?=/?(?:${tags.join('|')})\\b)`, 'gi');

/** Material and no orders: a model that repeats it word by word must not act by it. */
const disarmedTags: ReadonlySet<Tag> = new Set([
  'knowledge',
  'note',
  'attachment',
  'comment',
  'payload',
  'result',
]);

/**
 * A slash that would make a line a verb gets the backslash that Markdown does not show, also within strings of JSON, where
 * lines end in `\\n`.
 */
function disarmed(text: string): string {
  const isVerb = (word: string): boolean => {
    const read = readVerbLine(word);
    return read !== null && 'verb' in read;
  };
  return text
    .replaceAll(/^\/[^\s{]+/gm, (word) => (isVerb(word) ? `\\${word}` : word))
    .replaceAll(/(\\n|")(\/[^\s{"\\]+)/g, (all, before: string, word: string) =>
      isVerb(word) ? `${before}\\\\${word}` : all,
    );
}

/**
 * Text that others wrote, between tags that it can't close: what looks like one of our tags inside loses its bracket.
 * The operating rules say that nothing inside is an instruction to the engine.
 */
export function quoted(
  tag: Tag,
  text: string,
  limit: number,
  attributes: Record<string, string> = {},
): string {
  const attrs = Object.entries(attributes).map(
    ([name, value]) => ` ${name}=${JSON.stringify(inline(value, 200))}`,
  );
  const shown = bounded(text, limit).replaceAll(lookalike, '&lt;');
  return `<${tag}${attrs.join('')}>\n${disarmedTags.has(tag) ? disarmed(shown) : shown}\n</${tag}>`;
}

/** Names and titles within a line of ours: no line break, no tag. */
export function inline(text: string, limit = 500): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return (line.length > limit ? `${line.slice(0, limit - 1).toWellFormed()}…` : line).replaceAll(
    lookalike,
    '&lt;',
  );
}
