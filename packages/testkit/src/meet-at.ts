import { type Database, transaction, type Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { waitFor } from './wait-for.ts';

/**
 * Begins transactions that all need what is held meanwhile, one after the other: each when those before it wait for a lock. Then
 * lets them go on. @param held a statement that locks it @returns their outcomes
 */
export async function meetAt(
  database: Database,
  held: SQL,
  works: readonly ((tx: Tx) => Promise<unknown>)[],
): Promise<PromiseSettledResult<unknown>[]> {
  const begun: Promise<PromiseSettledResult<unknown>[]>[] = [];
  await transaction(database, async (holder) => {
    await holder.execute(held);
    for (const work of works) {
      begun.push(Promise.allSettled([transaction(database, work)]));
      await waitFor(async () => (await waitingForLocks(database)) === begun.length);
    }
  });
  return (await Promise.all(begun)).flat();
}

/** The number of connections to the database that wait for a lock. */
export async function waitingForLocks({ db }: Database): Promise<number> {
  const { rows } = await db.execute<{ count: number }>(
    sql`select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]!.count;
}
