import { type Tx, schema } from '@acp/db';
import { and, eq, sql } from 'drizzle-orm';
import { listEventsAfter, type SequencedEvent } from './read-events.ts';

const { event_cursors, event_sequence } = schema;

/** A reader's own place in the sequence of events. */
export interface CursorName {
  /** The kind of reader: `webhooks`. */
  consumer: string;
  /** Which of its kind; '' where there is one for the instance. */
  name: string;
}

export interface CursorBatch {
  /** Where the cursor stands. */
  after: number;
  /** Where `advanceCursor` puts it: at the last of `events`, or behind what is lost. */
  up_to: number;
  /** Ascending, of all companies and of none; empty: there is nothing new. */
  events: SequencedEvent[];
  /** How many events the retention removed before they were read; above 0 the reader has to start from the state. */
  missed: number;
}

/**
 * Opens the cursor behind the newest event; one that is open stays where it is. Held until the end of the transaction:
 * nobody who does not yet see the new reader closes it meanwhile.
 */
export async function openCursor(tx: Tx, { consumer, name }: CursorName): Promise<void> {
  await tx.execute(sql`
    insert into ${event_cursors} (consumer, name, seq)
    select ${consumer}, ${name}, last from ${event_sequence}
    on conflict (consumer, name) do update set updated_at = now()`);
}

/** Its owner is gone, or wants no more events. */
export async function closeCursor(tx: Tx, { consumer, name }: CursorName): Promise<void> {
  await tx
    .delete(event_cursors)
    .where(and(eq(event_cursors.consumer, consumer), eq(event_cursors.name, name)));
}

/**
 * The next events of an open cursor. In a transaction the cursor is locked until its end, so that of several processes
 * one reads; a reader whose effect takes long reads outside of one and relies on `advanceCursor`.
 * @returns undefined where the cursor is not open, or locked by another reader.
 */
export async function readCursor(
  tx: Tx,
  { consumer, name }: CursorName,
  limit: number,
): Promise<CursorBatch | undefined> {
  const { rows } = await tx.execute<{ after: string; last: string }>(sql`
    select c.seq as after, s.last from ${event_cursors} c, ${event_sequence} s
    where c.consumer = ${consumer} and c.name = ${name}
    for update of c skip locked`);
  const cursor = rows[0];
  if (cursor === undefined) return undefined;
  const [after, last] = [Number(cursor.after), Number(cursor.last)];
  if (last <= after) return { after, up_to: after, events: [], missed: 0 };
  const events = await listEventsAfter(tx, after, { companies: null, instance_wide: true, limit });
  // Numbers have no gaps and go in their order: what does not follow at once has been removed.
  return {
    after,
    up_to: events.at(-1)?.seq ?? last,
    events,
    missed: (events[0]?.seq ?? last + 1) - after - 1,
  };
}

/**
 * Moves the cursor behind the batch, in the transaction of the reader's effect.
 * @returns false where it no longer stands at `after`: another reader was faster, and the effect has to be rolled back.
 */
export async function advanceCursor(
  tx: Tx,
  { consumer, name }: CursorName,
  { after, up_to }: Pick<CursorBatch, 'after' | 'up_to'>,
): Promise<boolean> {
  const result = await tx
    .update(event_cursors)
    .set({ seq: up_to, updated_at: sql`now()` })
    .where(
      and(eq(event_cursors.consumer, consumer), eq(event_cursors.name, name), eq(event_cursors.seq, after)),
    );
  return result.rowCount === 1;
}
