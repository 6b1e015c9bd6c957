/**
 * Owns `council_sessions`, `council_participants` and `council_turns`: agents who deliberate on an issue. All turns are
 * planned, and their cost is reserved, when the council begins; each is a run of the kind `council_turn` whose ID is in
 * the plan. Invariants: one running council per issue; only `advanceCouncil` advances one, holding its row's lock and based on
 * the rows alone, so that it resumes at the first missing turn after any crash; no turn is taken twice; an agent that fails is
 * left out, with the reason.
 */
export { advanceCouncil } from './advance-council.ts';
export { cancelCouncil, conveneCouncil } from './convene-council.ts';
export { councilFacts } from './council-facts.ts';
export type { CouncilAnswer, CouncilFacts } from './council-facts.ts';
export { councilTurnKind } from './council-kind.ts';
export { COUNCIL_TURN } from './turn-proposal.ts';
export { letter, shuffledFor } from './labels.ts';
export { sweepCouncils } from './sweep-councils.ts';
export { findCouncil, listCouncils, presentCouncil, turnsInProgress } from './read-councils.ts';
