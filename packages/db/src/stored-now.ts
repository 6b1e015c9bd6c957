import { sql } from 'drizzle-orm';

/**
 * The current instant as columns store it. They round to milliseconds, half of the time up: a time that was just set to `now()`
 * is not yet reached by another `now()` of the same millisecond. Compare due times with this.
 */
export const storedNow = sql`now()::timestamptz(3)`;
