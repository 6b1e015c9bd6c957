import {
  beginTranscriptPart,
  deleteRefusalsBefore,
  deleteRoutineRunsBefore,
  deleteRunsBefore,
  deleteWakeupsBefore,
  dropOutlivedTranscripts,
  getSetting,
} from '@acp/core';
import { isLockTimeout, partitionTranscripts, transaction } from '@acp/db';
import type { TimerContext } from './context.ts';

const RUN_BATCH = 200;
const ROW_BATCH = 2000;

async function runDays({ database: { db }, config }: TimerContext): Promise<number> {
  return (await getSetting(db, 'run_retention_days')) ?? config.run_retention_days;
}

/** Sees to it that transcripts lie in parts, and begins the next part when its time has come. */
export async function keepTranscriptParts(context: TimerContext, signal: AbortSignal): Promise<void> {
  const { database } = context;
  await partitionTranscripts(database, signal);
  const days = await runDays(context);
  await transaction(database, async (tx) => beginTranscriptPart(tx, days)).catch(laterIfBusy);
}

/** Transcripts by whole parts; runs and what hangs from them in small bites, so that no statement holds rows for long. */
export async function forgetRuns(context: TimerContext, signal: AbortSignal): Promise<void> {
  const { database } = context;
  const { db } = database;
  const days = await runDays(context);
  let dropped = true;
  while (dropped && !signal.aborted)
    dropped = await transaction(database, async (tx) => dropOutlivedTranscripts(tx, days)).catch(laterIfBusy);
  let deleted = RUN_BATCH;
  while (deleted === RUN_BATCH && !signal.aborted) deleted = await deleteRunsBefore(db, days, RUN_BATCH);
  deleted = RUN_BATCH;
  while (deleted === RUN_BATCH && !signal.aborted)
    deleted = await deleteRoutineRunsBefore(db, days, RUN_BATCH);
  for (const forgetBatch of [deleteWakeupsBefore, deleteRefusalsBefore]) {
    deleted = ROW_BATCH;
    while (deleted === ROW_BATCH && !signal.aborted) deleted = await forgetBatch(db, days, ROW_BATCH);
  }
}

/** Somebody reads the table for long: the next look will find it free. */
export function laterIfBusy(err: unknown): false {
  if (isLockTimeout(err)) return false;
  throw err;
}
