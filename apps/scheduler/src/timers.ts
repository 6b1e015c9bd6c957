// Everything that happens because time passes. Each is safe with several schedulers at once: rows are locked and
// skipped, or the statement decides by itself.
import {
  deleteDeliveriesBefore,
  deleteOldAlerts,
  deleteOldMessages,
  deleteEventsBefore,
  deleteExpiredOauthFlows,
  deleteExpiredSessions,
  deleteMcpCallsBefore,
  deletePeerCallsBefore,
  deleteOldIdempotencyKeys,
  deleteOldLoginFailures,
  deleteRoutineRunsBefore,
  deleteOldKeyAddresses,
  deleteRunsBefore,
  deleteSecurityEventsBefore,
  deleteTaskWebhooksOfEnded,
  dueWork,
  EVENTS_KEPT_DAYS,
  deleteUnapprovedWorkers,
  forgetJobRuns,
  forgetPluginEvents,
  getSetting,
  isBackupRunning,
  LostRunNotEnded,
  noteOffline,
  postponeLostRun,
  proposeFindings,
  purgeOutlived,
  purgeOutlivedSubagent,
  releaseMissingTasks,
  rollOverBudgets,
  SECURITY_EVENTS_KEPT_DAYS,
  startDueHeartbeats,
  storeTicks,
  sweepBudgets,
  sweepCouncils,
  sweepEvolutions,
  sweepLostRun,
  sweepPendingTexts,
  sweepQueuedRuns,
  sweepRemoteResults,
  sweepSubagents,
  sweepUnappliedApprovals,
  sweepUnsettled,
  sweepWaitingChats,
  sweepWakeups,
  switchOffOverfull,
  warnOfExpiringKeys,
  watchPromotions,
} from '@acp/core';
import { type Listener, transaction } from '@acp/db';
import { deleteOldCommands } from '@acp/queue';
import { lookAround, reportProcess } from './alerts/look-around.ts';
import { makeDueBackup } from './backups/make-due-backup.ts';
import { reofferLostJobs } from './reoffer-lost-jobs.ts';
import type { TimerContext } from './context.ts';
import { fireSchedules } from './fire-schedules.ts';
import { endDueTasks } from './end-due-tasks.ts';
import { killLeftovers, sweepFiles, sweepProcesses } from './programs/stray-processes.ts';
import { sweepPlugins } from './plugins/sweep-plugins.ts';
import { folderTimers } from './workspaces/folder-timers.ts';
import { sweepStorage } from './sweep-storage.ts';
import { knowledgeTimers } from './knowledge/knowledge-timers.ts';
import { Timer } from './timer.ts';

export interface TimerRow {
  name: string;
  interval_sec: number;
  work: (context: TimerContext, signal: AbortSignal) => Promise<void>;
}

const HEARTBEAT_BATCH = 500;
const RUN_BATCH = 200;
const EVENT_BATCH = 2000;

export const timerTable: readonly TimerRow[] = [
  // The only one that an idle instance feels: one statement a second for all that is due to the second.
  { name: 'due-work', interval_sec: 1, work: runDueWork },
  { name: 'stray-processes', interval_sec: 30, work: sweepProcesses },
  { name: 'stray-files', interval_sec: 300, work: sweepFiles },
  ...folderTimers,
  ...knowledgeTimers,
  { name: 'stray-plugins', interval_sec: 300, work: sweepPlugins },
  { name: 'report-ticks', interval_sec: 10, work: reportTicks },
  {
    name: 'queued-runs',
    interval_sec: 30,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepQueuedRuns(tx));
    },
  },
  {
    name: 'waiting-chats',
    interval_sec: 10,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepWaitingChats(tx));
    },
  },
  {
    name: 'councils',
    interval_sec: 15,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepCouncils(tx));
    },
  },
  {
    name: 'evolutions',
    interval_sec: 15,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepEvolutions(tx));
    },
  },
  {
    name: 'promotions',
    interval_sec: 60,
    work: async ({ database }) => {
      await transaction(database, async (tx) => watchPromotions(tx));
    },
  },
  {
    name: 'subagents',
    interval_sec: 30,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepSubagents(tx));
    },
  },
  {
    name: 'findings',
    interval_sec: 10,
    work: async ({ database, config }) => {
      await transaction(database, async (tx) => proposeFindings(tx, config.default_llm_provider !== null));
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
  {
    name: 'budgets',
    interval_sec: 60,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepBudgets(tx));
    },
  },
  {
    name: 'approvals',
    interval_sec: 60,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepUnappliedApprovals(tx));
    },
  },
  {
    name: 'pending-texts',
    interval_sec: 300,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepPendingTexts(tx));
    },
  },
  {
    name: 'storage',
    interval_sec: 300,
    work: async ({ database, storage }, signal) => {
      // What the snapshot of a backup names has to be there until it was copied.
      if (await isBackupRunning(database.db)) return;
      await sweepStorage(database, storage, signal);
    },
  },
  {
    name: 'remote-results',
    interval_sec: 60,
    work: async ({ database }) => {
      await transaction(database, async (tx) => sweepRemoteResults(tx));
    },
  },
  {
    name: 'offline-workers',
    interval_sec: 30,
    work: async ({ database }) => {
      await transaction(database, async (tx) => noteOffline(tx));
    },
  },
  { name: 'alerts', interval_sec: 20, work: lookAround },
  { name: 'backups', interval_sec: 20, work: makeDueBackup },
  { name: 'retention', interval_sec: 300, work: forget },
  { name: 'key-expiry', interval_sec: 3600, work: announceExpiringKeys },
  { name: 'security-retention', interval_sec: 3600, work: deleteOldSecurityEvents },
  { name: 'event-retention', interval_sec: 300, work: deleteOldEvents },
  { name: 'trash-retention', interval_sec: 3600, work: purgeOldTrash },
  { name: 'run-retention', interval_sec: 3600, work: deleteOldRuns },
];

export function startTimers(context: TimerContext, listener: Pick<Listener, 'onReconnect'>): Timer[] {
  const { counters, logger } = context;
  const timers = timerTable.map(
    ({ work, ...row }) =>
      new Timer({ ...row, counters, logger, work: async (signal) => work(context, signal) }),
  );
  for (const timer of timers) timer.start();
  // The database was away: answers to fetches of jobs may have been lost with the connections.
  listener.onReconnect(() => void reofferLostJobs(context));
  return timers;
}

async function runDueWork(context: TimerContext, signal: AbortSignal): Promise<void> {
  const due = await dueWork(context.database.db);
  if (due.events) context.database.notifier?.push('events', ['']);
  if (due.budget_windows) await transaction(context.database, async (tx) => rollOverBudgets(tx));
  if (due.heartbeats) await fireHeartbeats(context, signal);
  if (due.missing_tasks) await transaction(context.database, async (tx) => releaseMissingTasks(tx));
  if (due.remote_tasks) await endDueTasks(context, signal);
  if (due.lost_runs) await sweepLostRuns(context, signal);
  if (due.webhooks) context.webhooks.kick();
  if (due.plugins) context.plugins.kick();
  if (due.mcp_servers) await context.mcp_servers.kick();
  if (due.peers) context.peers.kick();
  if (due.knowledge) context.knowledge.kick();
  if (due.messages) context.messages.kick();
  if (due.schedules) await fireSchedules(context, signal);
}

/** One run a transaction: several schedulers share the work of a dead one. */
async function sweepLostRuns({ config, database, logger }: TimerContext, signal: AbortSignal): Promise<void> {
  const failures: LostRunNotEnded[] = [];
  let ended = 0;
  while (!signal.aborted) {
    const except = failures.map(({ run_id }) => run_id);
    try {
      const lost = await transaction(database, async (tx) => sweepLostRun(tx, except));
      if (lost === undefined) break;
      ended += 1;
      logger.warn('a lost run was ended', { run_id: lost.id, claimed_by: lost.claimed_by });
      await killLeftovers({ config, logger }, lost);
    } catch (err) {
      // However many can't be ended, they must not stand in the way of the others.
      if (!(err instanceof LostRunNotEnded)) throw err;
      failures.push(err);
      await postponeLostRun(database.db, err.run_id);
    }
  }
  // Who lost runs has died, and perhaps with jobs in its hands.
  if (ended > 0) await reofferLostJobs({ database, logger });
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} lost runs could not be ended`);
}

async function fireHeartbeats({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  let due = HEARTBEAT_BATCH;
  while (due === HEARTBEAT_BATCH && !signal.aborted) {
    due = await transaction(database, async (tx) => startDueHeartbeats(tx, HEARTBEAT_BATCH));
  }
}

async function reportTicks(context: TimerContext): Promise<void> {
  const { database, claimed_by, started_at, counters } = context;
  await storeTicks(database.db, claimed_by, started_at, counters.snapshot());
  await reportProcess(context);
}

async function forget({ database: { db } }: TimerContext): Promise<void> {
  await deleteOldCommands(db);
  await deleteOldIdempotencyKeys(db);
  await deleteOldLoginFailures(db);
  await deleteUnapprovedWorkers(db);
  await deleteExpiredSessions(db);
  await deleteExpiredOauthFlows(db);
  await deleteOldMessages(db);
  await deleteOldAlerts(db);
}

async function announceExpiringKeys({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  let more = true;
  while (more && !signal.aborted) more = await transaction(database, async (tx) => warnOfExpiringKeys(tx));
}

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
  const forgetters = [
    deleteEventsBefore,
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

/** In small bites, so that no statement holds rows for long. */
async function deleteOldRuns({ database: { db }, config }: TimerContext, signal: AbortSignal): Promise<void> {
  const days = (await getSetting(db, 'run_retention_days')) ?? config.run_retention_days;
  let deleted = RUN_BATCH;
  while (deleted === RUN_BATCH && !signal.aborted) deleted = await deleteRunsBefore(db, days, RUN_BATCH);
  deleted = RUN_BATCH;
  while (deleted === RUN_BATCH && !signal.aborted)
    deleted = await deleteRoutineRunsBefore(db, days, RUN_BATCH);
}

/** How long things lie in the trash where no setting says otherwise (decisions 7.6). */
const TRASH_KEPT_DAYS = 30;

/** One thing a transaction. */
async function purgeOldTrash({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  const days = (await getSetting(database.db, 'trash_retention_days')) ?? TRASH_KEPT_DAYS;
  let purged = true;
  while (purged && !signal.aborted)
    purged = await transaction(database, async (tx) => purgeOutlived(tx, days));
  // Sub-agents that ended lie nowhere, but are remembered for as long.
  purged = true;
  while (purged && !signal.aborted)
    purged = await transaction(database, async (tx) => purgeOutlivedSubagent(tx, days));
}
