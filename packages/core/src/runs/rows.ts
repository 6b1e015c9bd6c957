import { liveRunStatuses, rowReader, schema } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';

/** Reads a run from the row of a hand-written statement. */
export const runRow = rowReader(schema.heartbeat_runs);

/**
 * Whether a run is queued, for the queue of one agent from its front. Worded so that of the partial indexes only
 * `heartbeat_runs_live_of_agent` qualifies: a statement that was planned while little was queued would go on reading the whole
 * queue from its front, or the company's part of it, for that agent's first.
 */
export const queuedOfAgent = (alias: string): SQL => {
  const status = sql`${sql.identifier(alias)}.status`;
  return sql`(${status} in ${liveRunStatuses} and ${status} <> 'running')`;
};
