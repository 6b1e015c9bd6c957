import { awaitsTexts, HEARTBEAT, promptFacts, taskPayload } from '@acp/core';
import { executionKind, MAX_TURNS } from '../execution-kind.ts';
import { buildPrompt } from './prompt.ts';

/** An agent wakes and works on its issue, or on none in particular. */
export const heartbeat = executionKind({
  name: HEARTBEAT,
  // A file and the wakeup of its comment are often seconds apart.
  ready: async (tx, { issue_id }) => issue_id === null || !(await awaitsTexts(tx, issue_id)),
  facts: promptFacts,
  prompt: buildPrompt,
  payload: taskPayload,
  verbs: () => true,
  max_turns: MAX_TURNS,
});
