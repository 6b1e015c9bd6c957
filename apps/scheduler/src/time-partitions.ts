import { deleteInstanceActsBefore, getSetting } from '@acp/core';
import {
  deleteCostTotals,
  dropExpiredPartition,
  endTimePartition,
  partitionByTime,
  type TimedTable,
  transaction,
} from '@acp/db';
import type { TimerContext } from './context.ts';
import { dropAll, inBites, laterIfBusy } from './in-bites.ts';

const ROW_BATCH = 2000;

/** The setting with each table's retention in days; unset: kept forever. */
const kept = {
  activity: 'activity_retention_days',
  cost_events: 'cost_event_retention_days',
} as const satisfies Record<TimedTable, string>;

/** Makes sure that the tables are partitioned, closes the last partition in time, and drops expired ones. */
export async function keepTimePartitions({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  for (const table of ['activity', 'cost_events'] as const) {
    await partitionByTime(database, table, signal);
    await transaction(database, async (tx) => endTimePartition(tx, table)).catch(laterIfBusy);
    const days = await getSetting(database.db, kept[table]);
    if (days !== undefined)
      await dropAll(database, signal, async (tx) => dropExpiredPartition(tx, table, days));
    if (days !== undefined && table === 'cost_events')
      await inBites(signal, ROW_BATCH, async (bite) => deleteCostTotals(database, bite));
    if (days !== undefined && table === 'activity')
      await inBites(signal, ROW_BATCH, async (bite) => deleteInstanceActsBefore(database.db, days, bite));
  }
}
