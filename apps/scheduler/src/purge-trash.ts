import { findExpiredEntry, getSetting, purgeExpired, purgeExpiredSubagent, TRASH_KEPT_DAYS } from '@acp/core';
import { transaction } from '@acp/db';
import type { TimerContext } from './context.ts';

/** An entry that can't be purged waits for the next time; this many failures point to the database. */
const MOST_FAILURES = 100;

/** Purges one entry per transaction. An entry that can't be purged does not block the others. */
export async function purgeOldTrash({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  const days = (await getSetting(database.db, 'trash_retention_days')) ?? TRASH_KEPT_DAYS;
  const passed_over: string[] = [];
  const failures: unknown[] = [];
  while (failures.length < MOST_FAILURES && !signal.aborted) {
    const entry = await findExpiredEntry(database.db, days, passed_over);
    if (entry === undefined) break;
    const { trash_id } = entry;
    const purged = await transaction(database, async (tx) => purgeExpired(tx, trash_id)).catch(
      (err: unknown) => {
        failures.push(err);
        return false;
      },
    );
    if (!purged) passed_over.push(trash_id);
  }
  // Finished sub-agents are not in the trash, but are kept for as long.
  let more = true;
  while (more && !signal.aborted)
    more = await transaction(database, async (tx) => purgeExpiredSubagent(tx, days));
  if (failures.length > 0) throw new AggregateError(failures, 'not all of the old trash could be purged');
}
