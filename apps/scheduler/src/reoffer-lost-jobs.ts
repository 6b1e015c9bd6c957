import { sweepQueuedRuns, sweepWakeups } from '@acp/core';
import { transaction } from '@acp/db';
import type { SchedulerContext } from './context.ts';

const DISPATCHES = 500;

/**
 * A job fetched by a process, or over a connection, that is now gone counts as running until it expires after a minute, and
 * the sweeps wait, too. So once such a loss is known, waiting work is enqueued again immediately; duplicate jobs do nothing.
 * Never rejects: the sweeps are the fallback.
 */
export async function reofferLostJobs({
  database,
  logger,
}: Pick<SchedulerContext, 'database' | 'logger'>): Promise<void> {
  try {
    await transaction(database, async (tx) => sweepQueuedRuns(tx, 0));
    await transaction(database, async (tx) => sweepWakeups(tx, DISPATCHES, 0));
  } catch (err) {
    logger.warn('lost jobs could not be requeued', { error: err });
  }
}
