import { type SQL, sql } from 'drizzle-orm';

// Tokens of a model's window, unless the agent's `adapter_config` tells them.
const TOKENS = 40_000;
const CHARACTERS_PER_TOKEN = 4;
const LONGEST_SAID = 20_000;

/**
 * What the conversation may take of the prompts of the agent `a`, in characters: half of the model's window. The rest is for
 * rules, skills, knowledge, files and the answer.
 */
export const conversationWindow: SQL = sql`(${CHARACTERS_PER_TOKEN / 2} * coalesce(
  case when jsonb_typeof(a.adapter_config -> 'context_tokens') = 'number' then (a.adapter_config ->> 'context_tokens')::numeric end,
  ${TOKENS}))`;

/** What the text of one message may take. */
export const longestSaid: SQL = sql`least(${LONGEST_SAID}, ${conversationWindow} / 4)::int`;

/** What the message `m` takes: its text is cut, and its name and tags are counted. */
export const sizeInPrompt: SQL = sql`(least(length(m.body_markdown), ${longestSaid}) + 200)`;
