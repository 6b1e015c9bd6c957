import { type Tx, schema } from '@acp/db';
import { asc, inArray, lt, sql } from 'drizzle-orm';

const { heartbeat_runs } = schema;

/** Forgets runs that ended more than `days` ago, with their transcripts, oldest first. @returns how many, at most `limit`. */
export async function deleteRunsBefore(tx: Tx, days: number, limit: number): Promise<number> {
  const old = tx
    .select({ id: heartbeat_runs.id })
    .from(heartbeat_runs)
    .where(lt(heartbeat_runs.finished_at, sql`now() - make_interval(days => ${days})`))
    .orderBy(asc(heartbeat_runs.finished_at))
    .limit(limit);
  const result = await tx.delete(heartbeat_runs).where(inArray(heartbeat_runs.id, old));
  return result.rowCount ?? 0;
}
