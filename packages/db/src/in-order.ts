import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';

/**
 * Condition: the rows `which`, locked in order of their ids. For a statement that changes or deletes several while others change
 * the same ones: in the order in which it happens to find them, two could wait for each other.
 */
export const inOrder = (
  table: PgTable & { readonly id: PgColumn },
  which: SQL | undefined,
  lock: 'update' | 'no key update' = 'update',
): SQL =>
  sql`${table.id} in (select ${table.id} from ${table} where ${which} order by ${table.id} for ${sql.raw(lock)})`;
