import { sql } from 'drizzle-orm';
import type { Tx } from './tx.ts';

/**
 * Waits until no other transaction holds the lock of this name, then holds it until the end of this one. For what has no row to
 * lock; statements that follow see what earlier holders committed.
 */
export async function lockByName(tx: Tx, name: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
}
