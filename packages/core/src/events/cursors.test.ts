import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { cloneDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import {
  advanceCursor,
  closeCursor,
  deleteEventsBefore,
  dropExpiredEvents,
  lastSequence,
  lowestEvents,
  openCursor,
  readCursor,
  replayFloor,
} from './index.ts';

// A database of its own, because the sequence is instance-wide.
let database: Database;
beforeEach(async () => {
  database = (await cloneDatabase('cursors')).database;
});

const cursor = { consumer: 'test', name: 'one' };
const { events, event_sequence } = schema;

/** Publishes events of that many days ago, oldest first. */
async function publish(...days: number[]): Promise<void> {
  const last = await lastSequence(database.db);
  const rows = days.map((age, index) => ({
    seq: last + index + 1,
    id: newId(),
    type: 'issue_updated',
    data: {},
    occurred_at: new Date(Date.now() - age * 86_400_000),
  }));
  await database.db.insert(events).values(rows);
  await database.db.update(event_sequence).set({ last: last + rows.length });
}

const read = async (limit = 100) => readCursor(database.db, cursor, limit);
const seqs = (batch: Awaited<ReturnType<typeof read>>) => batch?.events.map(({ seq }) => seq);
const kept = async () =>
  (await database.db.select({ seq: events.seq }).from(events).orderBy(events.seq)).map(({ seq }) => seq);

describe('a durable cursor', () => {
  it('reads in batches what came after it was opened, and goes on where its effect was committed', async () => {
    await publish(0, 0);
    await openCursor(database.db, cursor);
    expect(await read()).toEqual({ after: 2, up_to: 2, events: [], missed: 0 });
    await publish(0, 0, 0);
    await openCursor(database.db, cursor);
    const first = await read(2);
    expect(seqs(first)).toEqual([3, 4]);
    await expect(
      transaction(database, async (tx) => {
        await advanceCursor(tx, cursor, first!);
        throw new Error('the effect failed');
      }),
    ).rejects.toThrow('the effect failed');
    expect(seqs(await read(2))).toEqual([3, 4]);
    expect(await transaction(database, async (tx) => advanceCursor(tx, cursor, first!))).toBe(true);
    expect(await read()).toMatchObject({ after: 4, up_to: 5, missed: 0 });
  });

  it('is read by one of two at a time, and moved by the first only', async () => {
    await openCursor(database.db, cursor);
    await publish(0);
    const batch = (await read())!;
    await transaction(database, async (tx) => {
      expect(seqs(await readCursor(tx, cursor, 10))).toEqual([1]);
      expect(await read()).toBeUndefined();
      expect(await advanceCursor(tx, cursor, batch)).toBe(true);
    });
    expect(await transaction(database, async (tx) => advanceCursor(tx, cursor, batch))).toBe(false);
  });

  it('that fell behind the retention is told how much it missed, also where nothing is left', async () => {
    await openCursor(database.db, cursor);
    await publish(9, 8, 1, 0);
    await deleteEventsBefore(database.db, 7, 100);
    expect(await read(1)).toMatchObject({ after: 0, up_to: 3, missed: 2 });
    await deleteEventsBefore(database.db, 0, 100);
    expect(await read()).toEqual({ after: 0, up_to: 4, events: [], missed: 4 });
  });

  it('is not open before it was opened, nor after it was closed', async () => {
    expect(await read()).toBeUndefined();
    await openCursor(database.db, cursor);
    await closeCursor(database.db, cursor);
    expect(await read()).toBeUndefined();
  });
});

describe('retention of events', () => {
  it('goes batch by batch from the lowest number and stops at the first that is kept', async () => {
    // The fourth belongs to a transaction that was open for days.
    await publish(9, 9, 6, 9, 0);
    expect(await deleteEventsBefore(database.db, 7, 1)).toBe(1);
    expect(await deleteEventsBefore(database.db, 7, 10)).toBe(1);
    expect(await deleteEventsBefore(database.db, 7, 10)).toBe(0);
    expect(await kept()).toEqual([3, 4, 5]);
  });

  it('does not move the place where live streams begin to replay, which a look at the last minutes finds', async () => {
    await publish(3, 2, 0, 0);
    expect(await replayFloor(database.db)).toEqual({ floor: 2, last: 4 });
    const { rows } = await transaction(database, async (tx) => {
      await tx.execute(sql`set local enable_seqscan = off`);
      return tx.execute<{ 'QUERY PLAN': string }>(
        sql`explain select seq - 1 from events where occurred_at > now() - interval '10 minutes' order by occurred_at, seq limit 1`,
      );
    });
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toMatch(/Index Scan using events_\w*occurred_at/);
  });
});

describe('retention of many events', () => {
  const drop = async (days: number) => transaction(database, async (tx) => dropExpiredEvents(tx, days));

  it('drops the partition of the lowest numbers once all of its events are outlived, and no other', async () => {
    await publish(9, 8);
    await database.db.update(event_sequence).set({ last: 100_000 });
    // Not while its numbers are still being assigned: the second partition is not full.
    await database.db.execute(sql`select make_room_for_events(100000)`);
    await publish(9, 8);
    expect(await drop(9)).toBe(false);
    expect(await drop(7)).toBe(true);
    expect(await drop(7)).toBe(false);
    expect(await kept()).toEqual([100_001, 100_002]);
    expect(await lowestEvents(database.db)).toEqual({ name: 'events_100000', full: false, wide: false });
    await openCursor(database.db, cursor);
  });

  it('waits for nobody who reads them for long, as a backup does', async () => {
    await publish(9);
    await database.db.execute(sql`select make_room_for_events(100000)`);
    await database.db.update(event_sequence).set({ last: 100_000 });
    await transaction(database, async (tx) => {
      await tx.execute(sql`select count(*) from events`);
      await expect(drop(7)).rejects.toMatchObject({ kind: 'unavailable' });
    });
    expect(await drop(7)).toBe(true);
  });
});
