import type { Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';

/** So many parts cover the days that runs are kept: a part more is kept than the days say, and no statement looks into many. */
const PARTS = 12;

/** How long runs begin in one part, where they are kept for `days`. */
export const widthOfPart = (days: number): SQL =>
  sql`make_interval(secs => ${(days * 86_400) / PARTS}::float8)`;

/**
 * Lets new runs begin in a new part, once they began in the last one for long enough. Where somebody has been reading for long, a
 * backup for one, it throws `unavailable`; they begin in the last one until the next try.
 */
export async function beginTranscriptPart(tx: Tx, days: number): Promise<boolean> {
  const { rows } = await tx.execute<{ due: boolean }>(sql`
    select are_run_events_partitioned() and max(began_at) < now() - ${widthOfPart(days)} as due from transcript_parts`);
  if (rows[0]?.due !== true) return false;
  await tx.execute(sql`set local lock_timeout = '200ms'`);
  const { rowCount } = await tx.execute(sql`
    insert into transcript_parts (part)
    select max(part) + 1 from transcript_parts having max(began_at) < now() - ${widthOfPart(days)}
    on conflict do nothing`);
  if (rowCount === 0) return false;
  await tx.execute(sql`select make_transcript_parts()`);
  return true;
}

/**
 * Drops the oldest part if all of its runs ended more than `days` ago. Waits for nobody for longer than a moment, as above.
 * @returns false: it has younger ones, or is the last
 */
export async function dropOutlivedTranscripts(tx: Tx, days: number): Promise<boolean> {
  // The runs are looked through only when the part is as old as it has to be.
  const { rows } = await tx.execute<{ part: number }>(sql`
    with oldest as (
      select part, lead(began_at) over (order by part) as ended_at from transcript_parts order by part limit 1
    )
    select part from oldest
    where are_run_events_partitioned() and ended_at < now() - make_interval(days => ${days}) and not exists (
      select from heartbeat_runs r where r.transcript_part = oldest.part
        and (r.finished_at is null or r.finished_at >= now() - make_interval(days => ${days})))`);
  const part = rows[0]?.part;
  if (part === undefined) return false;
  await tx.execute(sql`set local lock_timeout = '200ms'`);
  await tx.execute(sql`delete from transcript_parts where part = ${part}`);
  await tx.execute(sql`drop table ${sql.identifier(`run_events_${part}`)}`);
  return true;
}
