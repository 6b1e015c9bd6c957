import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { isLockTimeout } from './errors.ts';
import type { Database } from './pool.ts';
import { transaction } from './transaction.ts';
import type { Tx } from './tx.ts';

const TRIES = 50;
const RETRY_MS = 200;
/** How long a step waits for its lock. */
export const STEP_WAIT_MS = 2000;

/**
 * Partitions a table that has rows step by step, each step in its own transaction: an interrupted process leaves a state that
 * the next one continues from. A step that could not get its lock in time is tried again.
 * @param step returns false if there is nothing to do now, or another process is doing it
 */
export async function inSteps(
  database: Database,
  signal: AbortSignal,
  step: (tx: Tx) => Promise<boolean>,
): Promise<void> {
  let more = true;
  for (let tries = 0; more && tries < TRIES && !signal.aborted; tries += 1) {
    try {
      more = await transaction(database, step);
    } catch (err) {
      if (!isLockTimeout(err)) throw err;
      await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Must be the first statement of a step, on its own: any later statement would wait for whoever alters the table. */
export async function isMyStep(tx: Tx, lock: number): Promise<boolean> {
  const { rows } = await tx.execute<{ mine: boolean }>(
    sql`select pg_try_advisory_xact_lock(${lock}) as mine`,
  );
  return rows[0]?.mine === true;
}
