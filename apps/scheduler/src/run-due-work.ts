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
import { isConnectionError, transaction } from '@acp/db';
import type { TimerContext } from './context.ts';
import { endDueTasks } from './end-due-tasks.ts';
import { fireSchedules } from './fire-schedules.ts';
import { killLeftovers } from './programs/stray-processes.ts';
import { reofferLostJobs } from './reoffer-lost-jobs.ts';

const HEARTBEAT_BATCH = 500;
/** Any further due agents wait for the next time, so that they do not delay other due work. */
const MOST_BATCHES = 10;

/**
 * Each part does its work whatever becomes of the others: what can't be done for one company must not hold up all.
 * @returns milliseconds until more work is due; 0 if something was due
 * @throws what went wrong, after all parts
 */
export async function runDueWork(context: TimerContext, signal: AbortSignal): Promise<number> {
  const { database } = context;
  const { next_in_ms, ...due } = await dueWork(database.db);
  const parts: Record<keyof typeof due, () => unknown> = {
    events: () => database.notifier?.push('events', ['']),
    budget_windows: async () => transaction(database, async (tx) => rollOverBudgets(tx)),
    heartbeats: async () => fireHeartbeats(context, signal),
    missing_tasks: async () => transaction(database, async (tx) => releaseMissingTasks(tx)),
    remote_tasks: async () => endDueTasks(context, signal),
    lost_runs: async () => sweepLostRuns(context, signal),
    webhooks: () => context.webhooks.kick(),
    plugins: () => context.plugins.kick(),
    mcp_servers: async () => context.mcp_servers.kick(),
    peers: () => context.peers.kick(),
    knowledge: () => context.knowledge.kick(),
    messages: () => context.messages.kick(),
    channels: () => context.channels.kick(),
    schedules: async () => fireSchedules(context, signal),
  };
  const failures: unknown[] = [];
  for (const [name, work] of Object.entries(parts) as [keyof typeof due, () => unknown][]) {
    if (!due[name]) continue;
    try {
      await work();
    } catch (err) {
      // Without a database all parts would wait for it in turn.
      if (isConnectionError(err)) throw err;
      failures.push(err);
    }
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, 'several parts of due work failed');
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
