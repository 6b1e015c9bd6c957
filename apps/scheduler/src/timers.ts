// Everything that happens because time passes. Each is safe with several schedulers at once: rows are locked and
// skipped, or the statement decides by itself.
import {
  deleteEventsBefore,
  deleteExpiredSessions,
  deleteOldIdempotencyKeys,
  deleteOldLoginFailures,
  deleteRunsBefore,
  dueWork,
  getSetting,
  startDueHeartbeats,
  storeTicks,
  sweepLostRun,
  sweepQueuedRuns,
  sweepUnsettled,
  sweepWakeups,
} from '@acp/core';
import { transaction } from '@acp/db';
import { forgetCommands } from '@acp/queue';
import type { SchedulerContext } from './context.ts';
import { Timer } from './timer.ts';

interface TimerRow {
  name: string;
  interval_sec: number;
  work: (context: SchedulerContext, signal: AbortSignal) => Promise<void>;
}

const HEARTBEAT_BATCH = 500;
const RUN_BATCH = 200;
/** Live streams replay 10 minutes (decisions 4); the rest is for whoever looks into what happened. */
const EVENTS_KEPT_SEC = 3600;

const rows: readonly TimerRow[] = [
  // The only one that an idle instance feels: one statement a second for all that is due to the second.
  { name: 'due-work', interval_sec: 1, work: doDueWork },
  { name: 'report-ticks', interval_sec: 10, work: reportTicks },
  {
    name: 'queued-runs',
    interval_sec: 30,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepQueuedRuns(tx));
    },
  },
  {
    name: 'wakeups',
    interval_sec: 60,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepWakeups(tx));
    },
  },
  {
    name: 'unsettled',
    interval_sec: 120,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepUnsettled(tx));
    },
  },
  { name: 'retention', interval_sec: 300, work: forget },
  { name: 'run-retention', interval_sec: 3600, work: forgetRuns },
];

export function createTimers(context: SchedulerContext): Timer[] {
  const { counters, logger } = context;
  return rows.map(
    ({ work, ...row }) =>
      new Timer({ ...row, counters, logger, work: async (signal) => work(context, signal) }),
  );
}

async function doDueWork(context: SchedulerContext, signal: AbortSignal): Promise<void> {
  const due = await dueWork(context.database.db);
  if (due.lost_runs) await sweepLostRuns(context, signal);
  if (due.heartbeats) await beatHearts(context, signal);
}

/** One run a transaction: several schedulers share the work of a dead one. */
async function sweepLostRuns({ database, logger }: SchedulerContext, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const lost = await transaction(database, async (tx) => sweepLostRun(tx));
    if (lost === undefined) return;
    logger.warn('a lost run was ended', { run_id: lost.id, claimed_by: lost.claimed_by });
  }
}

async function beatHearts({ database }: SchedulerContext, signal: AbortSignal): Promise<void> {
  let due = HEARTBEAT_BATCH;
  while (due === HEARTBEAT_BATCH && !signal.aborted) {
    due = await transaction(database, async (tx) => startDueHeartbeats(tx, HEARTBEAT_BATCH));
  }
}

async function reportTicks(context: SchedulerContext): Promise<void> {
  const { database, claimed_by, started_at, counters } = context;
  await storeTicks(database.db, claimed_by, started_at, counters.snapshot());
}

async function forget({ database: { db } }: SchedulerContext): Promise<void> {
  await forgetCommands(db);
  await deleteOldIdempotencyKeys(db);
  await deleteOldLoginFailures(db);
  await deleteExpiredSessions(db);
  await deleteEventsBefore(db, EVENTS_KEPT_SEC);
}

/** In small bites, so that no statement holds rows for long. */
async function forgetRuns(
  { database: { db }, config }: SchedulerContext,
  signal: AbortSignal,
): Promise<void> {
  const days = (await getSetting(db, 'run_retention_days')) ?? config.run_retention_days;
  let deleted = RUN_BATCH;
  while (deleted === RUN_BATCH && !signal.aborted) deleted = await deleteRunsBefore(db, days, RUN_BATCH);
}
