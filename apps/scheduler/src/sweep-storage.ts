import { claimOrphans, forgetStorageKeys } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Storage } from '@acp/storage';

/** As many as a store deletes in one request. */
const BATCH = 1000;
/** What is left is for the next sweep: a backup may be waiting for this one. */
const SWEEP_MS = 60_000;
/** An upload takes minutes; anything older was left by a process that died. */
const LEFTOVERS_AFTER_MS = 24 * 3600 * 1000;

/**
 * Deletes bytes that no row refers to. After a crash at any point the key is still recorded: a claimed key is claimed again
 * after a while. Bytes are never deleted inside a transaction.
 */
export async function sweepStorage(
  database: Database,
  storage: Storage,
  signal: AbortSignal,
): Promise<number> {
  let swept = 0;
  const endsAt = performance.now() + SWEEP_MS;
  for (let found = BATCH; found === BATCH && !signal.aborted && performance.now() < endsAt;) {
    const keys = await transaction(database, async (tx) => claimOrphans(tx, BATCH));
    const { gone, failure } = await storage.deleteAll(keys, signal);
    await forgetStorageKeys(database.db, gone);
    // A store that falls silent costs one request; the timer comes back.
    if (failure !== undefined) throw failure;
    found = keys.length;
    swept += found;
  }
  await storage.removeLeftovers(new Date(Date.now() - LEFTOVERS_AFTER_MS));
  return swept;
}
