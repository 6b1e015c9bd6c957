/**
 * Owns `routines`, `routine_triggers` and `routine_runs`.
 * Invariants: fires of a routine are serialised by its row lock, so that a policy or a replay check sees all earlier ones; a
 * schedule's next fire is set in the transaction that fires, and no instant fires twice; `next_fire_at` is set exactly while a
 * schedule is enabled (for a paused or trashed routine it advances without firing); webhook secrets are sealed.
 * Lock order: trigger > routine > company > agent > issue.
 */
export { nextFireTime, nextFireTimes } from './fire-times.ts';
export { findRoutine, listRoutines, routineNamed } from './read-routines.ts';
export { createRoutine, deleteRoutine, purgeRoutine, restoreRoutine, updateRoutine } from './routines.ts';
export { createScheduledRoutine, promoteRoutine } from './promote.ts';
export { createTrigger, deleteTrigger, findRoutineTrigger, listTriggers, updateTrigger } from './triggers.ts';
export { rotateSecret, rotateUrl, setSigningMode, settleTriggersOf } from './signing.ts';
export { fireRoutine } from './fire.ts';
export { verifySignature } from './verify-signature.ts';
export type { SignedRequest } from './verify-signature.ts';
export { fireWebhook, openWebhook, webhookAnswer } from './webhooks.ts';
export { companiesWithDueSchedules, fireDueSchedule } from './due-schedules.ts';
export { deleteRoutineRunsBefore, issuesOfRuns, listRoutineRuns } from './routine-runs.ts';
export type { IssueOfRun } from './routine-runs.ts';
export { presentRoutine } from './present.ts';
export type { RoutineRow } from './rows.ts';
export { insertRoutines } from './insert-routines.ts';
export type { NewRoutine, NewTrigger } from './insert-routines.ts';
