/**
 * Owns `goals`: the reasons behind the work, as a tree without cycles. A trashed goal counts as absent, as do its descendants.
 */
export { findCompanyGoal, findGoal, listGoals, partsOfGoal } from './read-goals.ts';
export { createGoal, deleteGoal, purgeGoal, restoreGoal, updateGoal } from './goals.ts';
export { insertGoals } from './insert-goals.ts';
export type { NewGoal } from './insert-goals.ts';
export { goalChain } from './goal-chain.ts';
export { presentGoal } from './present.ts';
