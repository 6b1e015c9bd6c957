/** Owns `task_sessions`. Invariant: one session of an agent on an issue is active at most; the end of a run keeps it. */
export {
  createTaskSession,
  findTaskSession,
  forgetSessions,
  listTaskSessions,
  taskSessionKept,
  updateTaskSession,
} from './task-sessions.ts';
export type { TaskSessionRow } from './task-sessions.ts';
