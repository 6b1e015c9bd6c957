import { sweepQueuedRuns, sweepWakeups } from '@acp/core';
import { transaction } from '@acp/db';
import type { SchedulerContext } from './context.ts';

const DISPATCHES = 500;

/**
 * A job that was fetched by a process or over a connection that is gone counts as running until it expires: a minute,
 * and the sweeps have their patience too. Once such a loss is known, what waits is offered again at once; jobs that
 * come twice do nothing. Never rejects: the sweeps are behind it.
 */
export async function reofferLostJobs({
  database,
  logger,
}: Pick<SchedulerContext, 'database' | 'logger'>): Promise<void> {
  try {
    await transaction(database, async (tx) => sweepQueuedRuns(tx, 0));
    await transaction(database, async (tx) => sweepWakeups(tx, DISPATCHES, 0));
  } catch (err) {
    logger.warn('lost jobs could not be offered again', { error: err });
  }
}
