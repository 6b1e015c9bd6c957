import { type Tx, schema } from '@acp/db';
import { sql } from 'drizzle-orm';

const { events } = schema;

/** How long events are kept where no setting says otherwise (decisions 10.12). */
export const EVENTS_KEPT_DAYS = 7;

/**
 * Forgets events older than `days`, from the lowest number on, at most `limit`. It stops at the first one that is kept,
 * so what is left has no gap and a cursor can tell that it fell behind. The primary key answers it.
 * @returns how many went; fewer than `limit`: there are no more.
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
