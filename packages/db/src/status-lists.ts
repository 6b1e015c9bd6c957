/**
 * Status lists that partial indexes and statements must spell identically: the planner uses a partial index only where
 * the statement repeats its predicate in literals. In SQL: `status in ${liveRunStatuses}`.
 */
import { type SQL, sql } from 'drizzle-orm';

const list = (...statuses: string[]): SQL =>
  sql.raw(`(${statuses.map((status) => `'${status}'`).join(', ')})`);

/** A run that has not ended. */
export const liveRunStatuses = list('queued', 'running');

/**
 * SQL: whether the run `r`, found by its id, has that status. Worded so that no partial index qualifies: a statement that was
 * planned while few runs had the status would go on reading all that have it to find the one.
 */
export const hasStatus = (status: 'queued' | 'running'): SQL =>
  sql`r.status || '' = ${sql.raw(`'${status}'`)}`;

/** A remote task that has not ended. */
export const openTaskStatuses = list('queued', 'claimed', 'cancel_requested');

/** An agent that may be woken: core's `wakeableStatuses`, in SQL. */
export const wakeableAgentStatuses = list('idle', 'active', 'running', 'error');

/** An issue that an agent may work on: the contract's `actionableStatuses`, in SQL. */
export const actionableIssueStatuses = list('todo', 'in_progress');

/** An issue that is closed: the contract's `terminalStatuses`, in SQL. */
export const terminalIssueStatuses = list('done', 'cancelled');
