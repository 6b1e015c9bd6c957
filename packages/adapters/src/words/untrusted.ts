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

/** Material, not instructions: a model that repeats it verbatim must not trigger actions. */
const disarmedTags: ReadonlySet<Tag> = new Set([
  'knowledge',
  'note',
  'attachment',
  'comment',
  'payload',
  'result',
]);

/**
 * A slash that would turn a line into a verb is escaped with a backslash, which Markdown does not show; also inside JSON
 * strings, where lines end in `\\n`.
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
 * Wraps text from others in tags that it can't close: anything inside that looks like one of our tags loses its bracket.
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

/** Names and titles inside a line of ours: no line breaks, no tags. */
export function inline(text: string, limit = 500): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return (line.length > limit ? `${line.slice(0, limit - 1).toWellFormed()}…` : line).replaceAll(
    lookalike,
    '&lt;',
  );
}
