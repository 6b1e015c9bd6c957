// What goes because it has been kept for long enough.
import {
  deleteDeliveriesBefore,
  deleteMcpCallsBefore,
  deleteOldKeyAddresses,
  deletePeerCallsBefore,
  deleteSecurityEventsBefore,
  deleteTaskWebhooksOfEnded,
  EVENTS_KEPT_DAYS,
  forgetJobRuns,
  forgetPluginEvents,
  getSetting,
  SECURITY_EVENTS_KEPT_DAYS,
  switchOffOverfull,
} from '@acp/core';
import { partitionEvents, transaction } from '@acp/db';
import type { TimerContext, TimerRow } from './context.ts';
import { forgetEvents } from './forget-events.ts';
import { forgetRuns, keepTranscriptParts } from './forget-runs.ts';

const EVENT_BATCH = 2000;

export const retentionTimers: readonly TimerRow[] = [
  { name: 'security-retention', interval_sec: 3600, work: deleteOldSecurityEvents },
  {
    name: 'event-partitions',
    interval_sec: 300,
    work: async ({ database }, signal) => partitionEvents(database, signal),
  },
  { name: 'transcript-parts', interval_sec: 300, work: keepTranscriptParts },
  { name: 'event-retention', interval_sec: 300, work: deleteOldEvents },
  { name: 'run-retention', interval_sec: 3600, work: forgetRuns },
];

async function deleteOldSecurityEvents(
  { database: { db } }: TimerContext,
  signal: AbortSignal,
): Promise<void> {
  const days = (await getSetting(db, 'security_event_retention_days')) ?? SECURITY_EVENTS_KEPT_DAYS;
  let deleted = EVENT_BATCH;
  while (deleted === EVENT_BATCH && !signal.aborted)
    deleted = await deleteSecurityEventsBefore(db, days, EVENT_BATCH);
  await deleteOldKeyAddresses(db, days);
}

/** Events and what webhooks made of them, in bites: a busy instance makes a lot in five minutes. */
async function deleteOldEvents({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  const { db } = database;
  const days = (await getSetting(db, 'event_retention_days')) ?? EVENTS_KEPT_DAYS;
  await forgetEvents(database, days, signal);
  const forgetters = [
    deleteDeliveriesBefore,
    deleteTaskWebhooksOfEnded,
    deleteMcpCallsBefore,
    deletePeerCallsBefore,
  ];
  for (const forgetBatch of forgetters) {
    let deleted = EVENT_BATCH;
    while (deleted === EVENT_BATCH && !signal.aborted) deleted = await forgetBatch(db, days, EVENT_BATCH);
  }
  await transaction(database, async (tx) => switchOffOverfull(tx));
  for (const forgetBatch of [forgetPluginEvents, forgetJobRuns]) {
    let deleted = EVENT_BATCH;
    while (deleted === EVENT_BATCH && !signal.aborted) deleted = await forgetBatch(db, EVENT_BATCH);
  }
}
