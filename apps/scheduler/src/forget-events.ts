import { deleteEventsBefore, dropOutlivedEvents, lowestEvents } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { laterIfBusy } from './forget-runs.ts';

const BATCH = 2000;

/**
 * Forgets events older than `days`. Of an instance with many, whole partitions are dropped, which is done within a day more; of
 * one with few, the rows are deleted to the day.
 */
export async function forgetEvents(database: Database, days: number, signal: AbortSignal): Promise<void> {
  let dropped = true;
  while (dropped && !signal.aborted)
    dropped = await transaction(database, async (tx) => dropOutlivedEvents(tx, days)).catch(laterIfBusy);
  const lowest = await lowestEvents(database.db);
  // What does not go in a day all the same came thick and fast once, and hardly any more.
  const kept = lowest?.wide === true ? days + 1 : days;
  let deleted = BATCH;
  while (deleted === BATCH && !signal.aborted) deleted = await deleteEventsBefore(database.db, kept, BATCH);
}
