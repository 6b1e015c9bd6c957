import {
  beginTranscriptPart,
  deleteRefusalsBefore,
  deleteRoutineRunsBefore,
  deleteRunsBefore,
  deleteWakeupsBefore,
  dropExpiredTranscripts,
  getSetting,
} from '@acp/core';
import { deleteRunTotals, partitionTranscripts, transaction } from '@acp/db';
import type { TimerContext } from './context.ts';
import { dropAll, inBites, laterIfBusy } from './in-bites.ts';

const RUN_BATCH = 200;
const ROW_BATCH = 2000;

async function runDays({ database: { db }, config }: TimerContext): Promise<number> {
  return (await getSetting(db, 'run_retention_days')) ?? config.run_retention_days;
}

/** Makes sure that transcripts are partitioned, and starts the next partition when it is due. */
export async function keepTranscriptParts(context: TimerContext, signal: AbortSignal): Promise<void> {
  const { database } = context;
  await partitionTranscripts(database, signal);
  const days = await runDays(context);
  await transaction(database, async (tx) => beginTranscriptPart(tx, days)).catch(laterIfBusy);
}

/** Drops transcripts by whole partitions; deletes runs and what depends on them in batches. */
export async function deleteOldRuns(context: TimerContext, signal: AbortSignal): Promise<void> {
  const { database } = context;
  const { db } = database;
  const days = await runDays(context);
  await dropAll(database, signal, async (tx) => dropExpiredTranscripts(tx, days));
  for (const deleteBefore of [deleteRunsBefore, deleteRoutineRunsBefore])
    await inBites(signal, RUN_BATCH, async (bite) => deleteBefore(db, days, bite));
  for (const deleteBefore of [deleteWakeupsBefore, deleteRefusalsBefore])
    await inBites(signal, ROW_BATCH, async (bite) => deleteBefore(db, days, bite));
  await inBites(signal, ROW_BATCH, async (bite) => deleteRunTotals(database, bite));
}
