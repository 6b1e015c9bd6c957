import { endDueTask } from '@acp/core';
import { transaction } from '@acp/db';
import type { TimerContext } from './context.ts';

/** One task per transaction; several schedulers may do this concurrently. */
export async function endDueTasks({ database, logger }: TimerContext, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const due = await transaction(database, async (tx) => endDueTask(tx));
    if (due === undefined) return;
    if (due.ended) logger.info('the run of a remote task was ended', { run_id: due.run_id });
  }
}
