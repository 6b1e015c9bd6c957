import { type SQL, sql } from 'drizzle-orm';

// Size of a model's window in tokens, unless the agent's `adapter_config` sets it.
const TOKENS = 40_000;
const CHARACTERS_PER_TOKEN = 4;
const LONGEST_SAID = 20_000;

/**
 * Maximum characters of conversation in prompts of the agent `a`: half of the model's window. The rest is for rules, skills,
 * knowledge, files and the answer.
 */
export const conversationWindow: SQL = sql`(${CHARACTERS_PER_TOKEN / 2} * coalesce(
  case when jsonb_typeof(a.adapter_config -> 'context_tokens') = 'number' then (a.adapter_config ->> 'context_tokens')::numeric end,
  ${TOKENS}))`;

/** Maximum length of one message's text. */
export const longestSaid: SQL = sql`least(${LONGEST_SAID}, ${conversationWindow} / 4)::int`;

/** Size of the message `m`: its text is truncated, and its name and tags are counted. */
export const sizeInPrompt: SQL = sql`(least(length(m.body_markdown), ${longestSaid}) + 200)`;
