import { schema, type Tx, waitBriefly } from '@acp/db';
import { sql } from 'drizzle-orm';

const { events } = schema;

/** How long events are kept by default (decisions 10.12). */
export const EVENTS_KEPT_DAYS = 7;

/** Size of the narrowest partition, in numbers. A wider one is dropped as a whole. */
const NARROW = 100_000;

/** The partition with the lowest numbers. */
interface LowestEvents extends Record<string, unknown> {
  name: string;
  /** All of its numbers have been assigned. */
  full: boolean;
  /** It may contain too many events to delete one by one. */
  wide: boolean;
}

/** Undefined if `events` has no partitions yet. */
export async function lowestEvents(tx: Tx): Promise<LowestEvents | undefined> {
  const { rows } = await tx.execute<LowestEvents>(sql`
    select p.name, p.ends <= s.last + 1 as full, p.ends - p.begins > ${NARROW} as wide
    from event_sequence s cross join lateral (
      select c.relname as name, substring(b.bounds from 'TO [(]''([0-9]+)''[)]')::bigint as ends,
        coalesce(substring(b.bounds from 'FROM [(]''([0-9]+)''[)]')::bigint, 0) as begins
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      cross join lateral (select pg_get_expr(c.relpartbound, c.oid) as bounds) b
      where i.inhparent = ${'events'}::regclass
      order by ends limit 1) p`);
  return rows[0];
}

/**
 * Drops the partition with the lowest numbers if all of its events are older than `days`. Waits for locks only briefly: if a
 * long-running reader, such as a backup, blocks it, it throws `unavailable`.
 * @returns false if it contains younger events or is still being filled
 */
export async function dropExpiredEvents(tx: Tx, days: number): Promise<boolean> {
  const lowest = await lowestEvents(tx);
  if (lowest?.full !== true) return false;
  const name = sql.identifier(lowest.name);
  const { rows } = await tx.execute(
    sql`select from ${name} where occurred_at >= now() - make_interval(days => ${days}) limit 1`,
  );
  if (rows.length > 0) return false;
  await waitBriefly(tx);
  await tx.execute(sql`drop table ${name}`);
  return true;
}

/**
 * Deletes events older than `days`, starting from the lowest number, at most `limit`. It stops at the first one to keep, so the
 * rest has no gap and a cursor can tell that it fell behind. Uses the primary key.
 * @returns how many were deleted; fewer than `limit`: there are no more
 */
export async function deleteEventsBefore(tx: Tx, days: number, limit: number): Promise<number> {
  const result = await tx.execute(sql`
    with oldest as materialized (select seq, occurred_at from ${events} order by seq limit ${limit})
    delete from ${events}
    where seq = any (array(
      select seq from oldest where seq < coalesce(
        (select min(seq) from oldest where occurred_at >= now() - make_interval(days => ${days})),
        (select max(seq) + 1 from oldest))))`);
  return result.rowCount ?? 0;
}
