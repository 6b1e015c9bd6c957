/** Work that is due to the second: found by one statement, then done by whichever part is responsible. */
import {
  dueWork,
  LostRunNotEnded,
  postponeLostRun,
  releaseMissingTasks,
  rollOverBudgets,
  startDueHeartbeats,
  sweepLostRun,
} from '@acp/core';
import { transaction } from '@acp/db';
import type { TimerContext } from './context.ts';
import { endDueTasks } from './end-due-tasks.ts';
import { fireSchedules } from './fire-schedules.ts';
import { killLeftovers } from './programs/stray-processes.ts';
import { reofferLostJobs } from './reoffer-lost-jobs.ts';

const HEARTBEAT_BATCH = 500;
/** Any further due agents wait for the next time, so that they do not delay other due work. */
const MOST_BATCHES = 10;

/** @returns milliseconds until more work is due; 0 if something was due */
export async function runDueWork(context: TimerContext, signal: AbortSignal): Promise<number> {
  const { next_in_ms, ...due } = await dueWork(context.database.db);
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
  if (due.channels) context.channels.kick();
  if (due.schedules) await fireSchedules(context, signal);
  return Object.values(due).includes(true) ? 0 : (next_in_ms ?? Infinity);
}

/** One run per transaction: several schedulers share the work of a dead one. */
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
      // Runs that can't be ended, however many, must not block the others.
      if (!(err instanceof LostRunNotEnded)) throw err;
      failures.push(err);
      await postponeLostRun(database.db, err.run_id);
    }
  }
  // The scheduler that lost the runs has died, possibly with fetched jobs.
  if (ended > 0) await reofferLostJobs({ database, logger });
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} lost runs could not be ended`);
}

async function fireHeartbeats({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  let due = HEARTBEAT_BATCH;
  for (let batch = 0; batch < MOST_BATCHES && due === HEARTBEAT_BATCH && !signal.aborted; batch += 1) {
    due = await transaction(database, async (tx) => startDueHeartbeats(tx, HEARTBEAT_BATCH));
  }
}
