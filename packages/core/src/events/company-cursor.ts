import type { Tx } from '@acp/db';
import { schema } from '@acp/db';
import { sql } from 'drizzle-orm';
import type { CursorBatch, CursorName } from './cursors.ts';
import { listEventsAfter } from './read-events.ts';

const { event_cursors, event_sequence, events } = schema;

/**
 * The next events of one company, for a reader with effects outside of the database: nothing is locked, `advanceCursor`
 * decides. Other companies' events are skipped without being read.
 * @returns undefined if the cursor is not open
 */
export async function readCompanyCursor(
  tx: Tx,
  { consumer, name }: CursorName,
  company_id: string,
  limit: number,
): Promise<CursorBatch | undefined> {
  const { rows } = await tx.execute<{ after: string; last: string; first: string | null }>(sql`
    select c.seq as after, s.last, (select seq from ${events} order by seq limit 1) as first
    from ${event_cursors} c, ${event_sequence} s where c.consumer = ${consumer} and c.name = ${name}`);
  const cursor = rows[0];
  if (cursor === undefined) return undefined;
  const [after, last] = [Number(cursor.after), Number(cursor.last)];
  if (last <= after) return { after, up_to: after, events: [], missed: 0 };
  // Numbers have no gaps: anything between the cursor and the first remaining number has been removed.
  const missed = Math.max(0, (cursor.first === null ? last + 1 : Number(cursor.first)) - after - 1);
  const found = await listEventsAfter(tx, after, { companies: [company_id], instance_wide: false, limit });
  const next = found.filter(({ seq }) => seq <= last);
  const isAll = found.length < limit;
  return { after, up_to: isAll ? last : (next.at(-1)?.seq ?? last), events: next, missed };
}
