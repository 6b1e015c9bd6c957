import { deleteEventsBefore, dropOutlivedEvents, lowestEvents } from '@acp/core';
import type { Database } from '@acp/db';
import { dropAll, inBites } from './in-bites.ts';

const BATCH = 2000;

/**
 * Forgets events older than `days`. Of an instance with many, whole partitions are dropped, which is done within a day more; of
 * one with few, the rows are deleted to the day.
 */
export async function forgetEvents(database: Database, days: number, signal: AbortSignal): Promise<void> {
  await dropAll(database, signal, async (tx) => dropOutlivedEvents(tx, days));
  const lowest = await lowestEvents(database.db);
  // What does not go in a day all the same came thick and fast once, and hardly any more.
  const kept = lowest?.wide === true ? days + 1 : days;
  await inBites(signal, BATCH, async (bite) => deleteEventsBefore(database.db, kept, bite));
}
