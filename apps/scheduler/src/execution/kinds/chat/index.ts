import {
  CHAT_REPLY,
  CHAT_SUMMARY,
  type ChatFacts,
  chatFacts,
  type KnowledgeQuery,
  summaryFacts,
} from '@acp/core';
import { executionKind, MAX_TURNS } from '../execution-kind.ts';
import { chatPrompt, summaryPrompt } from './prompt.ts';

// Limits in characters.
const QUESTION = 2000;
const BEFORE = 500;

/** Includes what the person said before, since "and why?" alone is no query. */
function questionOf({ question, said, has_knowledge, knowledge }: ChatFacts): KnowledgeQuery | null {
  if (!has_knowledge || knowledge?.length === 0) return null;
  const before = said.findLast(({ role }) => role === 'user')?.body_markdown ?? '';
  const asked = `${question.body_markdown.slice(0, QUESTION)}\n${before.slice(0, BEFORE)}`;
  // A file without any text is no question.
  return asked.trim() === '' ? null : { question: asked, only_types: knowledge };
}

/** The agent answers a chat message. No sessions: one would carry one person's chat into another's. */
export const chatReply = executionKind({
  name: CHAT_REPLY,
  facts: chatFacts,
  ready: ({ texts_awaited }) => !texts_awaited,
  question: questionOf,
  index: ({ has_index, knowledge }) => has_index && knowledge?.includes('index') !== false,
  prompt: chatPrompt,
  verbs: ({ chats }) => chats,
  max_turns: MAX_TURNS,
  sessions: false,
  awaited: true,
});

/** Summarises what was said in a chat. */
export const chatSummary = executionKind({
  name: CHAT_SUMMARY,
  facts: summaryFacts,
  prompt: summaryPrompt,
  verbs: () => false,
  max_turns: 1,
  sessions: false,
  awaited: false,
});
