import { type Tx, waitBriefly } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';

/** Number of partitions that cover the retention period; one more is kept than that, and no statement has to search many. */
const PARTS = 12;

/** The time span of runs that begin in one partition, with a retention of `days`. */
export const widthOfPart = (days: number): SQL =>
  sql`make_interval(secs => ${(days * 86_400) / PARTS}::float8)`;

/**
 * Creates a partition for new runs once the last one has been in use for long enough. Throws `unavailable` if a long-running
 * reader, such as a backup, blocks it; new runs use the last partition until the next try.
 */
export async function beginTranscriptPart(tx: Tx, days: number): Promise<boolean> {
  const { rows } = await tx.execute<{ due: boolean }>(sql`
    select are_run_events_partitioned() and max(began_at) < now() - ${widthOfPart(days)} as due from transcript_parts`);
  if (rows[0]?.due !== true) return false;
  await waitBriefly(tx);
  const { rowCount } = await tx.execute(sql`
    insert into transcript_parts (part)
    select max(part) + 1 from transcript_parts having max(began_at) < now() - ${widthOfPart(days)}
    on conflict do nothing`);
  if (rowCount === 0) return false;
  await tx.execute(sql`select make_transcript_parts()`);
  return true;
}

/**
 * Drops the oldest partition if all of its runs ended more than `days` ago. Waits for locks only briefly, as above.
 * @returns false if it contains younger runs or is the last one
 */
export async function dropExpiredTranscripts(tx: Tx, days: number): Promise<boolean> {
  // The runs are only checked once the partition is old enough.
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
  await waitBriefly(tx);
  await tx.execute(sql`delete from transcript_parts where part = ${part}`);
  await tx.execute(sql`drop table ${sql.identifier(`run_events_${part}`)}`);
  return true;
}
