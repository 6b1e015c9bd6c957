// All periodic work. Each timer is safe on several schedulers at the same time: rows are locked and skipped, or the
// statement decides by itself.
import { isBackupRunning, reportProcess, warnOfExpiringKeys } from '@acp/core';
import {
  copyIssueWords,
  type Listener,
  mergeDayTotals,
  type SignalChannel,
  signalChannels,
  transaction,
} from '@acp/db';
import { diskUsedPercent, checkAlerts } from './alerts/check-alerts.ts';
import { makeDueBackup } from './backups/make-due-backup.ts';
import { LOOK_SEC, LostWork } from './lost-work.ts';
import { reofferLostJobs } from './reoffer-lost-jobs.ts';
import type { TimerContext, TimerRow } from './context.ts';
import { retentionTimers } from './retention-timers.ts';
import { runDueWork } from './run-due-work.ts';
import { sweepFiles, sweepProcesses } from './programs/stray-processes.ts';
import { sweepPlugins } from './plugins/sweep-plugins.ts';
import { folderTimers } from './workspaces/folder-timers.ts';
import { sweepStorage } from './sweep-storage.ts';
import { knowledgeTimers } from './knowledge/knowledge-timers.ts';
import { Timer } from './timer.ts';

export const timerTable: readonly TimerRow[] = [
  // One statement covers everything due to the second. Negligible on an idle instance: it rests until the next due time.
  { name: 'due-work', interval_sec: 1, rest_sec: 30, work: runDueWork },
  { name: 'stray-processes', interval_sec: 30, work: sweepProcesses },
  { name: 'stray-files', interval_sec: 300, work: sweepFiles },
  ...folderTimers,
  ...knowledgeTimers,
  {
    name: 'issue-words',
    interval_sec: 300,
    work: async ({ database }, signal) => copyIssueWords(database, signal),
  },
  {
    name: 'day-totals',
    interval_sec: 300,
    work: async ({ database }, signal) => mergeDayTotals(database, signal),
  },
  { name: 'stray-plugins', interval_sec: 300, work: sweepPlugins },
  { name: 'report-ticks', interval_sec: 10, work: reportTicks },
  {
    name: 'storage',
    interval_sec: 300,
    work: async ({ database, storage }, signal) => {
      // Whatever a backup's snapshot refers to must exist until it has been copied.
      if (await isBackupRunning(database.db)) return;
      await sweepStorage(database, storage, signal);
    },
  },
  { name: 'alerts', interval_sec: 20, work: checkAlerts },
  { name: 'backups', interval_sec: 20, work: makeDueBackup },
  { name: 'key-expiry', interval_sec: 3600, work: announceExpiringKeys },
  ...retentionTimers,
];

/** Signals that never make anything due. */
const unheard: readonly SignalChannel[] = ['transcripts', 'credentials', 'channels', 'egress'];

export function startTimers(context: TimerContext, listener: Pick<Listener, 'on' | 'onReconnect'>): Timer[] {
  const { config, counters, logger } = context;
  const lost = new LostWork(context);
  const look: TimerRow = {
    name: 'lost-work',
    interval_sec: LOOK_SEC,
    work: async (_context, signal) => lost.look(signal),
  };
  const timers = [...timerTable, look].map(({ work, rest_sec, ...row }) => {
    // A lease acquired by someone else in the meantime expires after that time at the earliest.
    const rest = rest_sec && { rest_sec: Math.min(rest_sec, config.run_lease_sec) };
    return new Timer({ ...row, ...rest, counters, logger, work: async (signal) => work(context, signal) });
  });
  for (const timer of timers) timer.start();
  const wake = (): void => {
    for (const timer of timers) timer.wake();
  };
  for (const channel of signalChannels) if (!unheard.includes(channel)) listener.on(channel, wake);
  listener.onReconnect(() => {
    wake();
    // The database was away: answers to job fetches may have been lost along with the connections.
    void reofferLostJobs(context);
  });
  return timers;
}

async function reportTicks(context: TimerContext): Promise<void> {
  const { config, database, claimed_by, started_at, counters } = context;
  const disk_used_pct = await diskUsedPercent(config);
  await reportProcess(database.db, claimed_by, { started_at, disk_used_pct, workers: counters.snapshot() });
}

/** So that a scheduler counts as alive from its start, and not only once the timer has been. */
export async function reportStart(context: TimerContext): Promise<void> {
  await reportTicks(context).catch((error: unknown) =>
    context.logger.warn('the start could not be reported; the timer tries again', { error }),
  );
}

async function announceExpiringKeys({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  let more = true;
  while (more && !signal.aborted) more = await transaction(database, async (tx) => warnOfExpiringKeys(tx));
}
