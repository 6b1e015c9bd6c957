import { type Tx, schema } from '@acp/db';
import { sql } from 'drizzle-orm';

const { events, event_sequence } = schema;

/** How far back the live stream can replay what a client missed (decisions 4). */
const REPLAY_WINDOW = sql`interval '10 minutes'`;

/**
 * Where a replay can begin: the number before the oldest event of the last 10 minutes, or the newest number if there is none.
 * Found by time instead of by the lowest number, since days of older events precede it. A client whose last number is lower
 * has missed events that can't be replayed any more.
 */
export async function replayFloor(tx: Tx): Promise<{ floor: number; last: number }> {
  const { rows } = await tx.execute<{ floor: string; last: string }>(sql`
    select s.last, coalesce((
      select e.seq - 1 from ${events} e where e.occurred_at > now() - ${REPLAY_WINDOW} order by e.occurred_at, e.seq limit 1), s.last) as floor
    from ${event_sequence} s`);
  return { floor: Number(rows[0]?.floor ?? 0), last: Number(rows[0]?.last ?? 0) };
}
