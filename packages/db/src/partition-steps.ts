import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { isLockTimeout } from './errors.ts';
import type { Database } from './pool.ts';
import { transaction } from './transaction.ts';
import type { Tx } from './tx.ts';

const TRIES = 50;
const RETRY_MS = 200;

/**
 * Takes a table that has rows to its partitions step by step, each in a transaction of its own: a process that ends half-way leaves
 * what the next one goes on from. A step that would make others wait is tried again.
 * @param step false: there is nothing to do now, or another process is at it
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

/** By itself, as the first statement of a step: what comes next would wait for who changes the table. */
export async function isMyStep(tx: Tx, lock: number): Promise<boolean> {
  const { rows } = await tx.execute<{ mine: boolean }>(
    sql`select pg_try_advisory_xact_lock(${lock}) as mine`,
  );
  return rows[0]?.mine === true;
}
