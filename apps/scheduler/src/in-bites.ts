import { type Database, isLockTimeout, transaction, type Tx } from '@acp/db';

/** Deletes everything that is due, in batches small enough to keep locks short. @param forget returns how many it deleted */
export async function inBites(
  signal: AbortSignal,
  bite: number,
  forget: (bite: number) => Promise<number>,
): Promise<void> {
  let forgotten = bite;
  while (forgotten === bite && !signal.aborted) forgotten = await forget(bite);
}

/** Drops partitions until none is due, or someone is reading the table for long. */
export async function dropAll(
  database: Database,
  signal: AbortSignal,
  drop: (tx: Tx) => Promise<boolean>,
): Promise<void> {
  let dropped = true;
  while (dropped && !signal.aborted) dropped = await transaction(database, drop).catch(laterIfBusy);
}

/** Someone is reading the table for long: the next attempt will find it free. */
export function laterIfBusy(err: unknown): false {
  if (isLockTimeout(err)) return false;
  throw err;
}
