import { EVOLUTION_STEP, evolutionFacts } from '@acp/core';
import { executionKind } from '../execution-kind.ts';
import { evolutionPrompt } from './prompt.ts';

/** One step of the evolution of a prompt. Its output affects nothing but the evolution. */
export const evolutionStep = executionKind({
  name: EVOLUTION_STEP,
  facts: evolutionFacts,
  prompt: evolutionPrompt,
  verbs: () => false,
  rehearses: true,
  max_turns: 1,
  sessions: false,
  awaited: false,
});
