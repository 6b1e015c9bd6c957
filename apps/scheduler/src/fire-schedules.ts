import { fireDueSchedule } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Logger } from '@acp/kernel';

/** Transactions at once: one that waits for a busy routine holds up the others no longer than that. */
const LANES = 4;
/** Fires a tick, so that leases and heartbeats of the same tick's successor are looked after in time. */
const MOST = 400;

/** Fires what is due. Several schedulers share it: each fire is a transaction that passes over rows of the others. */
export async function fireSchedules(
  { database, logger }: { database: Database; logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  let left = MOST;
  const lane = async () => {
    while (left > 0 && !signal.aborted) {
      left -= 1;
      const done = await transaction(database, async (tx) => fireDueSchedule(tx));
      if (done === undefined) return;
      const { run, defect } = done.fired ?? {};
      if (defect !== undefined)
        logger.error('a schedule could not fire', { routine_run_id: run?.id, error: defect });
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: LANES }, lane));
  const failed = lanes.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
