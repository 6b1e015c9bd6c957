// Deletes what has been kept for long enough.
import {
  deleteOldAccountMails,
  deleteOldAlerts,
  deleteOldChannelTraffic,
  deleteOldMessages,
  deleteSilentHosts,
  deleteExpiredInvites,
  deleteExpiredLinks,
  deleteExpiredOauthFlows,
  deleteExpiredSessions,
  deleteOldIdempotencyKeys,
  deleteOldJobRuns,
  deleteOldPluginEvents,
  deleteOldLoginFailures,
  deleteUnapprovedWorkers,
  deleteDeliveriesBefore,
  deleteMcpCallsBefore,
  deleteOldKeyAddresses,
  deleteOwnerlessViews,
  deletePeerCallsBefore,
  deleteSecurityEventsBefore,
  deleteTaskWebhooksOfEnded,
  EVENTS_KEPT_DAYS,
  getSetting,
  oldReadMarks,
  SECURITY_EVENTS_KEPT_DAYS,
  settleReads,
  switchOffOverfull,
} from '@acp/core';
import { partitionEvents, transaction } from '@acp/db';
import { deleteOldCommands } from '@acp/queue';
import type { TimerContext, TimerRow } from './context.ts';
import { deleteOldEvents } from './delete-old-events.ts';
import { deleteOldRuns, keepTranscriptParts } from './delete-old-runs.ts';
import { keepTimePartitions } from './time-partitions.ts';
import { inBites } from './in-bites.ts';
import { purgeOldTrash } from './purge-trash.ts';

const EVENT_BATCH = 2000;

export const retentionTimers: readonly TimerRow[] = [
  { name: 'retention', interval_sec: 300, work: deleteExpired },
  { name: 'security-retention', interval_sec: 3600, work: deleteOldSecurityEvents },
  {
    name: 'event-partitions',
    interval_sec: 300,
    work: async ({ database }, signal) => partitionEvents(database, signal),
  },
  { name: 'transcript-parts', interval_sec: 300, work: keepTranscriptParts },
  { name: 'time-partitions', interval_sec: 300, work: keepTimePartitions },
  { name: 'event-retention', interval_sec: 300, work: deleteOldTraffic },
  { name: 'trash-retention', interval_sec: 3600, work: purgeOldTrash },
  { name: 'run-retention', interval_sec: 3600, work: deleteOldRuns },
  { name: 'read-marks', interval_sec: 3600, work: settleOldMarks },
];

async function deleteOldSecurityEvents(
  { database: { db } }: TimerContext,
  signal: AbortSignal,
): Promise<void> {
  const days = (await getSetting(db, 'security_event_retention_days')) ?? SECURITY_EVENTS_KEPT_DAYS;
  await inBites(signal, EVENT_BATCH, async (bite) => deleteSecurityEventsBefore(db, days, bite));
  await deleteOldKeyAddresses(db, days);
}

/** Deletes events, and the records of what was sent and called, in batches: a busy instance creates a lot of them in five minutes. */
async function deleteOldTraffic({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  const { db } = database;
  const days = (await getSetting(db, 'event_retention_days')) ?? EVENTS_KEPT_DAYS;
  await deleteOldEvents(database, days, signal);
  const deletions = [
    deleteDeliveriesBefore,
    deleteTaskWebhooksOfEnded,
    deleteMcpCallsBefore,
    deletePeerCallsBefore,
  ];
  for (const deleteBefore of deletions)
    await inBites(signal, EVENT_BATCH, async (bite) => deleteBefore(db, days, bite));
  await transaction(database, async (tx) => switchOffOverfull(tx));
  for (const deleteOld of [deleteOldPluginEvents, deleteOldJobRuns])
    await inBites(signal, EVENT_BATCH, async (bite) => deleteOld(db, bite));
}

async function deleteExpired({ database: { db } }: TimerContext): Promise<void> {
  await deleteOldCommands(db);
  await deleteOldIdempotencyKeys(db);
  await deleteOldLoginFailures(db);
  await deleteUnapprovedWorkers(db);
  await deleteExpiredSessions(db);
  await deleteExpiredOauthFlows(db);
  await deleteExpiredLinks(db);
  await deleteExpiredInvites(db);
  await deleteOldAccountMails(db);
  await deleteOldMessages(db);
  await deleteOldAlerts(db);
  await deleteOldChannelTraffic(db);
  await deleteSilentHosts(db);
  await deleteOwnerlessViews(db);
}

async function settleOldMarks({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  for (const { reader_id, company_id } of await oldReadMarks(database.db)) {
    if (signal.aborted) return;
    await transaction(database, async (tx) => settleReads(tx, reader_id, company_id));
  }
}
