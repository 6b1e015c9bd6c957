import type { Pool } from 'pg';
import { preparedBy } from './counting-client.ts';

/** A connection that has only run the timers of an idle process holds fewer. */
const MANY = 20;

/**
 * Closes idle connections that hold the plans of many statements: PostgreSQL keeps 10 to 20 MB for each, and gives nothing back
 * before its connection ends. Those that something uses just now stay.
 */
export async function restPool(pool: Pool): Promise<void> {
  const taken = await Promise.allSettled(Array.from({ length: pool.idleCount }, async () => pool.connect()));
  for (const each of taken)
    if (each.status === 'fulfilled') each.value.release(preparedBy(each.value) > MANY);
}
