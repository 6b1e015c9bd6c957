import { rowReader, schema } from '@acp/db';

/** Reads a run from the row of a hand-written statement. */
export const runRow = rowReader(schema.heartbeat_runs);
