/** Owns `goals`: why the work is done, as a tree. A trashed goal counts as absent. */
export { createGoal, findGoal, goalChain } from './goals.ts';
export type { GoalInChain, GoalLevel, GoalRow, NewGoal } from './goals.ts';
