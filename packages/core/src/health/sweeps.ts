/** The sweeps for lost work of every kind, and the one statement that tells which of them have something to look at. */
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import type { Sweep } from './sweep.ts';
import { sweepsOfRuns } from './sweeps-of-runs.ts';
import { sweepsOfWork } from './sweeps-of-work.ts';

export const sweeps: readonly Sweep[] = [...sweepsOfRuns, ...sweepsOfWork];

/** Names of those sweeps that have something to look at: for all of them the only statement of an idle scheduler. */
export async function waitingSweeps(tx: Tx, asked: readonly Sweep[]): Promise<string[]> {
  if (asked.length === 0) return [];
  const each = asked.map(({ name, waiting }) => sql`select ${name}::text as name where exists (${waiting})`);
  const { rows } = await tx.execute<{ name: string }>(sql.join(each, sql` union all `));
  return rows.map(({ name }) => name);
}
