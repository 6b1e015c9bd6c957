import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { widthOfPart } from './transcript-parts.ts';

/**
 * Deletes runs that ended more than `days` ago, oldest first. They wait for their transcripts to be dropped with the
 * partition, but not for long if other runs in it took longer. @returns how many, at most `limit`
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
