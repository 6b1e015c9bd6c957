/** Owns `task_sessions`. Invariant: an agent has at most one active session on an issue; ending a run preserves this. */
export {
  createTaskSession,
  findTaskSession,
  forgetSessions,
  listTaskSessions,
  taskSessionKept,
  updateTaskSession,
} from './task-sessions.ts';
