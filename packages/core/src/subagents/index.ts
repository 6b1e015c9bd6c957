/**
 * Owns `subagents` and `subagent_waits`: agents that agents spawn for one issue each, and the issues that are parked until
 * they end. All descendants of one ordinary agent form a tree, whose lock is acquired before all row locks: spawning, waiting
 * and settling in one tree are serialised. Invariants: at most ten active ones per agent, three levels; a sub-agent ends
 * with its issue, or with the run after which nothing is left to do; a wait ends in the transaction that wakes its
 * agent, so it wakes once. Earlier slices report changes with the job `settle-subagents`.
 */
export { awaitSubagents } from './await-subagents.ts';
export { listSubagents } from './list-subagents.ts';
export { expiredHomes, purgeExpiredSubagent } from './retention.ts';
export type { ExpiredHome } from './retention.ts';
export { settleSubagents } from './settle-subagents.ts';
export { spawnSubagent } from './spawn-subagent.ts';
export { sweepSubagents } from './sweep-subagents.ts';
