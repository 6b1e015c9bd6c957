/**
 * Owns `goals`: why the work is done, as a tree without circles. A trashed goal counts as absent, and so does what lies
 * below it.
 */
export { findGoal, listGoals, loadGoal } from './read-goals.ts';
export { createGoal, deleteGoal, purgeGoal, restoreGoal, updateGoal } from './goals.ts';
export { insertGoals } from './insert-goals.ts';
export type { NewGoal } from './insert-goals.ts';
export { goalChain } from './goal-chain.ts';
export { presentGoal } from './present.ts';
export type { GoalRow } from './present.ts';
