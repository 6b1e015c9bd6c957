import { rowReader, schema } from '@acp/db';

/** A run as a hand-written statement gives it. */
export const runRow = rowReader(schema.heartbeat_runs);
