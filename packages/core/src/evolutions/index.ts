/**
 * Owns `prompt_evolutions`, `evolution_instances`, `evolution_candidates` and `evolution_steps`: an agent's prompt is
 * improved on its own finished issues (docs/prompt-evolution.md). Each step is a run of the kind `evolution_step`, whose verbs
 * are read and never applied. Invariants: one running evolution per agent; `advanceEvolution` alone moves one on, under the
 * locks of agent and evolution, from what the rows say, so that it goes on at the first missing step whoever died; what was
 * done is not asked for again; a winner becomes a prompt version, active by itself only where the agent's owner wants it.
 */
export { advanceEvolution } from './advance-evolution.ts';
export type { CaseFacts } from './case-facts.ts';
export { type EvolutionFacts, evolutionFacts } from './evolution-facts.ts';
export { evolutionStepKind } from './evolution-kind.ts';
export { findEvolution, listEvolutions, presentEvolution } from './read-evolutions.ts';
export { cancelEvolution, evolvePrompt } from './start-evolution.ts';
export { EVOLUTION_STEP } from './step-proposal.ts';
export { sweepEvolutions } from './sweep-evolutions.ts';
export { watchPromotions } from './watch-promotions.ts';
