import { type Database, isLockTimeout, transaction, type Tx } from '@acp/db';

/** Forgets all there is to forget, so many rows at a time that no statement holds them for long. @param forget says how many went */
export async function inBites(
  signal: AbortSignal,
  bite: number,
  forget: (bite: number) => Promise<number>,
): Promise<void> {
  let forgotten = bite;
  while (forgotten === bite && !signal.aborted) forgotten = await forget(bite);
}

/** Drops partitions as long as one is there to be dropped, and nobody reads the table for long. */
export async function dropAll(
  database: Database,
  signal: AbortSignal,
  drop: (tx: Tx) => Promise<boolean>,
): Promise<void> {
  let dropped = true;
  while (dropped && !signal.aborted) dropped = await transaction(database, drop).catch(laterIfBusy);
}

/** Somebody reads the table for long: the next look will find it free. */
export function laterIfBusy(err: unknown): false {
  if (isLockTimeout(err)) return false;
  throw err;
}
