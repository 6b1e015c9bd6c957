/**
 * Owns `remote_tasks`. Invariants: a task belongs to one run, which runs without a lease as long as the task is not ended;
 * no payload at rest holds a secret. Locks: the run before its task.
 */
export { endDueTask } from './end-due-task.ts';
export { queueRemoteTask } from './queue-remote-task.ts';
export { taskPayload } from './task-payload.ts';
