import { claimOrphans, forgetStorageKeys } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Storage } from '@acp/storage';

const BATCH = 100;
/** An upload lasts minutes; what is older was left by a process that died. */
const LEFTOVERS_AFTER_MS = 24 * 3600 * 1000;

/**
 * Deletes the bytes that no row names. A crash at any point leaves the key written down: claimed, it is claimed again
 * after a while. Bytes are never deleted inside of a transaction.
 */
export async function sweepStorage(
  database: Database,
  storage: Storage,
  signal: AbortSignal,
): Promise<number> {
  let swept = 0;
  for (let found = BATCH; found === BATCH && !signal.aborted;) {
    const keys = await transaction(database, async (tx) => claimOrphans(tx, BATCH));
    for (const key of keys) await storage.delete(key);
    await forgetStorageKeys(database.db, keys);
    found = keys.length;
    swept += found;
  }
  await storage.removeLeftovers(new Date(Date.now() - LEFTOVERS_AFTER_MS));
  return swept;
}
