/**
 * Owns `workers` and `remote_tasks`. Invariants: a task belongs to one run, which runs without a lease until the task has ended;
 * a result is accepted once; no stored payload contains a secret; a worker only sees tasks that it has claimed.
 * Lock order: agent, subject and run before the task; workers before their tasks. A claim never waits for a lock.
 */
export {
  createWorker,
  deleteWorker,
  findAdminWorker,
  listAdminWorkers,
  listWorkers,
  moveWorker,
  settleWorkersOf,
  updateWorker,
  workerMoves,
} from './administer-workers.ts';
export type { WorkerMove } from './administer-workers.ts';
export { completeTask, failTask } from './bring-result.ts';
export { claimTasks } from './claim-tasks.ts';
export type { ClaimOutcome, ClaimRules, TaskClaim } from './claim-tasks.ts';
export { endDueTask } from './end-due-task.ts';
export { verifyModuleToken } from './module-tokens.ts';
export { deleteUnapprovedWorkers, noteHeartbeats, noteOffline } from './note-heartbeats.ts';
export type { WorkerBeat } from './note-heartbeats.ts';
export { operatingPrompt } from './operating-prompt.ts';
export { hasClaimed } from './own-task.ts';
export { queueRemoteTask } from './queue-remote-task.ts';
export { mayTake, queuedRoutes } from './queued-routes.ts';
export type { QueuedRoute } from './queued-routes.ts';
export { queueStats } from './queue-stats.ts';
export { registerWorker, resumeWorker } from './register-worker.ts';
export type { RegistrationRules } from './register-worker.ts';
export { releaseMissingTasks } from './release-tasks.ts';
export { resolveWorker, resolveWorkers } from './resolve-worker.ts';
export { completedTask, sweepRemoteResults } from './sweep-results.ts';
export { recordStopped, readControl } from './task-control.ts';
export { addTaskEvents } from './task-events.ts';
export { taskPayload } from './task-payload.ts';
export { fleetWaits } from './waiting-runs.ts';
export type { FleetWait } from './waiting-runs.ts';
