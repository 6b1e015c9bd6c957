import { claimOrphans, forgetStorageKeys } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Storage } from '@acp/storage';

const BATCH = 100;
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
  for (let found = BATCH; found === BATCH && !signal.aborted;) {
    const keys = await transaction(database, async (tx) => claimOrphans(tx, BATCH));
    const failures: unknown[] = [];
    const gone: string[] = [];
    for (const key of keys)
      await storage.delete(key).then(
        () => gone.push(key),
        (error: unknown) => failures.push(error),
      );
    await forgetStorageKeys(database.db, gone);
    // One that can't be deleted does not block the others.
    if (failures.length > 0) throw failures[0];
    found = keys.length;
    swept += found;
  }
  await storage.removeLeftovers(new Date(Date.now() - LEFTOVERS_AFTER_MS));
  return swept;
}
