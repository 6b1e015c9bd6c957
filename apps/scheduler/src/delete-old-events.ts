import { deleteEventsBefore, dropExpiredEvents, lowestEvents } from '@acp/core';
import type { Database } from '@acp/db';
import { dropAll, inBites } from './in-bites.ts';

const BATCH = 2000;

/**
 * Deletes events older than `days`. With many events, whole partitions are dropped, up to a day late; with few, rows are
 * deleted on the day.
 */
export async function deleteOldEvents(database: Database, days: number, signal: AbortSignal): Promise<void> {
  await dropAll(database, signal, async (tx) => dropExpiredEvents(tx, days));
  const lowest = await lowestEvents(database.db);
  // Rows that outlive even the extra day are in a partition that once filled up quickly, and hardly does so any more.
  const kept = lowest?.wide === true ? days + 1 : days;
  await inBites(signal, BATCH, async (bite) => deleteEventsBefore(database.db, kept, bite));
}
