import { type Tx, schema } from '@acp/db';
import { and, eq, sql } from 'drizzle-orm';
import { listEventsAfter, type SequencedEvent } from './read-events.ts';

const { event_cursors, event_sequence } = schema;

/** Identifies a reader's position in the sequence of events. */
export interface CursorName {
  /** The kind of reader: `webhooks`. */
  consumer: string;
  /** Distinguishes readers of the same kind; '' if there is one for the instance. */
  name: string;
}

export interface CursorBatch {
  /** The current position of the cursor. */
  after: number;
  /** The position that `advanceCursor` moves to: the last of `events`, or after what is lost. */
  up_to: number;
  /** Ascending, with and without a company; empty: there is nothing new. */
  events: SequencedEvent[];
  /** Number of events that retention removed before they were read; if above 0, the reader must start from the current state. */
  missed: number;
}

/**
 * Opens the cursor after the newest event; an open one keeps its position. Its row is locked until the end of the transaction,
 * so that no one who can't see the new reader yet closes it in the meantime.
 */
export async function openCursor(tx: Tx, { consumer, name }: CursorName): Promise<void> {
  await tx.execute(sql`
    insert into ${event_cursors} (consumer, name, seq)
    select ${consumer}, ${name}, last from ${event_sequence}
    on conflict (consumer, name) do update set updated_at = now()`);
}

/** Closes the cursor because its owner is gone or wants no more events. */
export async function closeCursor(tx: Tx, { consumer, name }: CursorName): Promise<void> {
  await tx
    .delete(event_cursors)
    .where(and(eq(event_cursors.consumer, consumer), eq(event_cursors.name, name)));
}

/**
 * The next events of an open cursor. In a transaction the cursor is locked until its end, so that only one of several processes
 * reads; a reader with slow effects reads outside of one and relies on `advanceCursor`.
 * @returns undefined if the cursor is not open, or locked by another reader
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
  // Numbers are ascending and have no gaps: anything missing right after the cursor has been removed.
  return {
    after,
    up_to: events.at(-1)?.seq ?? last,
    events,
    missed: (events[0]?.seq ?? last + 1) - after - 1,
  };
}

/**
 * Moves the cursor past the batch, in the transaction of the reader's effects.
 * @returns false if it is no longer at `after`: another reader was faster, and the effects must be rolled back
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
