/**
 * Owns `prompt_evolutions`, `evolution_instances`, `evolution_candidates` and `evolution_steps`: an agent's prompt is
 * improved on its own finished issues (docs/prompt-evolution.md). Each step is a run of the kind `evolution_step`, whose verbs
 * are read and never applied. Invariants: one running evolution per agent; only `advanceEvolution` advances one, holding the
 * locks of agent and evolution and based on the rows alone, so that it resumes at the first missing step after any crash;
 * finished steps are not repeated; a winner becomes a prompt version, activated automatically only if the agent's owner wants it.
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
