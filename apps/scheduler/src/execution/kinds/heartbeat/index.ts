import { HEARTBEAT, promptFacts, taskPayload } from '@acp/core';
import { executionKind, MAX_TURNS } from '../execution-kind.ts';
import { buildPrompt } from './prompt.ts';

/** An agent wakes and works on its issue, or on none in particular. */
export const heartbeat = executionKind({
  name: HEARTBEAT,
  // A file and the wakeup of its comment are often seconds apart.
  ready: ({ issue }) => issue?.texts_awaited !== true,
  facts: promptFacts,
  prompt: buildPrompt,
  payload: taskPayload,
  verbs: () => true,
  max_turns: MAX_TURNS,
  sessions: true,
  awaited: false,
});
