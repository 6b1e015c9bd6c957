import { COUNCIL_TURN, councilFacts } from '@acp/core';
import { executionKind } from '../execution-kind.ts';
import { councilPrompt } from './prompt.ts';

/** A participant of a council speaks. Nothing is done in a council but to speak: no verb is obeyed. */
export const councilTurn = executionKind({
  name: COUNCIL_TURN,
  facts: councilFacts,
  prompt: councilPrompt,
  verbs: () => false,
  max_turns: 1,
  sessions: false,
  awaited: false,
});
