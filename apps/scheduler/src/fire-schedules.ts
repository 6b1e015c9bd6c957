import { companiesWithDueSchedules, fireDueSchedule } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Logger } from '@acp/kernel';

/** Number of concurrent transactions: one that waits for a busy routine blocks only its own lane. */
const LANES = 4;
/** Maximum number of fires per tick, so that leases and heartbeats due by the next tick are handled in time. */
const MOST = 400;

/**
 * Fires due schedules, one per company in turn, so that one company's many schedules do not delay the others. Schedulers
 * can share the work: each fire is a transaction that skips rows locked by others.
 * @param most maximum number of fires, whatever is left over
 */
export async function fireSchedules(
  { database, logger }: { database: Database; logger: Logger },
  signal: AbortSignal,
  most = MOST,
): Promise<void> {
  let left = most;
  let turns = await companiesWithDueSchedules(database.db, most);
  const lane = async () => {
    while (left > 0 && !signal.aborted) {
      const company_id = turns.shift();
      if (company_id === undefined) return;
      turns.push(company_id);
      left -= 1;
      const done = await transaction(database, async (tx) => fireDueSchedule(tx, company_id));
      if (done === undefined) {
        left += 1;
        turns = turns.filter((each) => each !== company_id);
        continue;
      }
      const { run, defect } = done.fired ?? {};
      if (defect !== undefined)
        logger.error('a schedule could not fire', { routine_run_id: run?.id, error: defect });
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: LANES }, lane));
  const failed = lanes.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
