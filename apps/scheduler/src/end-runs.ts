import { setTimeout as delay } from 'node:timers/promises';
import { sweepLostRun } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Logger } from '@acp/kernel';
import type { LeaseKeeper } from './execution/lease-keeper.ts';
import type { RunPool } from './execution/run-pool.ts';

/** Aborted runs end at their next await, once their programs are gone; one that does not is cut off by the end of the process. */
const ABORT_TIMEOUT_MS = 4000;

interface Running {
  pool: RunPool;
  leases: LeaseKeeper;
  database: Database;
  logger: Logger;
}

/** Lets runs end for so long, or until `hurry`, and hands back the others. */
export async function endRuns(running: Running, timeoutMs: number, hurry?: AbortSignal): Promise<void> {
  const { pool } = running;
  if (await pool.drain(timeoutMs, hurry)) return;
  // Their programs go although the database may not hear of it.
  await Promise.race([releaseLeases(running), delay(ABORT_TIMEOUT_MS)]);
  await pool.drain(ABORT_TIMEOUT_MS);
}

/** Aborts what still runs and ends it as lost right away, so that another scheduler need not wait for the leases. */
async function releaseLeases({ database, leases, logger }: Running): Promise<void> {
  try {
    await leases.release();
    while (await transaction(database, async (tx) => sweepLostRun(tx))) {
      // One run a transaction; other schedulers may sweep alongside.
    }
  } catch (err) {
    logger.warn('runs could not be handed back: their leases lapse', { error: err });
  }
}
