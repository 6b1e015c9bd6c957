/** Owns `task_sessions`. Invariant: an agent has at most one active session on an issue; ending a run preserves this. */
export {
  createTaskSession,
  findTaskSession,
  clearSessions,
  listTaskSessions,
  taskSessionKept,
  updateTaskSession,
} from './task-sessions.ts';
