/**
 * Owns agents, their runtime state and their keys.
 * Invariants: a trashed agent counts as absent; `running` is set by runs only; `next_heartbeat_at` is set exactly
 * while the heartbeat is on; no key outlives its agent; nobody reports to himself, however indirectly.
 * What an ended agent leaves behind further up the slice list (runs, checkouts, wakeups) the job `settle-agent` ends.
 */
export { findAgent, listAgents, runtimeState } from './read-agents.ts';
export { presentAgent, summarizeAgent } from './present.ts';
export type { AgentKeyRow, AgentRow } from './present.ts';
export { noteRunEnded, noteRunStarted } from './note-run.ts';
export { dueHeartbeats } from './heartbeat.ts';
export type { DueHeartbeat } from './heartbeat.ts';
export { isWakeable } from './status.ts';
