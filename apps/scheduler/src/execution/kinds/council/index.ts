import { COUNCIL_TURN, councilFacts } from '@acp/core';
import { executionKind } from '../execution-kind.ts';
import { councilPrompt } from './prompt.ts';

/** A council participant speaks. Speaking is all it can do: no verb is obeyed. */
export const councilTurn = executionKind({
  name: COUNCIL_TURN,
  facts: councilFacts,
  prompt: councilPrompt,
  verbs: () => false,
  max_turns: 1,
  sessions: false,
  awaited: false,
});
