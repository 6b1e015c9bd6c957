import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { widthOfPart } from './transcript-parts.ts';

/**
 * Forgets runs that ended more than `days` ago, oldest first. Their transcripts have been dropped with their part as a rule, for which
 * they wait; not for long, where others of the part took longer. @returns how many, at most `limit`.
 */
export async function deleteRunsBefore(tx: Tx, days: number, limit: number): Promise<number> {
  const result = await tx.execute(sql`
    delete from heartbeat_runs where id in (
      select r.id from heartbeat_runs r
      where r.finished_at < now() - make_interval(days => ${days})
        and (r.finished_at < now() - make_interval(days => ${days}) - 1.5 * ${widthOfPart(days)}
          or not exists (select from transcript_parts p where p.part = r.transcript_part and p.part > 0))
      order by r.finished_at limit ${limit})`);
  return result.rowCount ?? 0;
}
