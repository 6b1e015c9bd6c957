import { CHAT_REPLY, CHAT_SUMMARY, chatFacts, summaryFacts } from '@acp/core';
import { executionKind, MAX_TURNS } from '../execution-kind.ts';
import { chatPrompt, summaryPrompt } from './prompt.ts';

/** The agent answers a message of a chat. A session would carry one person's chat into another's: there is none. */
export const chatReply = executionKind({
  name: CHAT_REPLY,
  facts: chatFacts,
  prompt: chatPrompt,
  verbs: ({ chats }) => chats,
  max_turns: MAX_TURNS,
  sessions: false,
  awaited: true,
});

/** What was said in a chat is put in short. */
export const chatSummary = executionKind({
  name: CHAT_SUMMARY,
  facts: summaryFacts,
  prompt: summaryPrompt,
  verbs: () => false,
  max_turns: 1,
  sessions: false,
  awaited: false,
});
