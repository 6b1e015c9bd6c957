import { setTimeout as delay } from 'node:timers/promises';
import { sweepLostRun } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Logger } from '@acp/kernel';
import type { LeaseKeeper } from './execution/lease-keeper.ts';
import type { RunPool } from './execution/run-pool.ts';

/** Aborted runs end at their next await, once their programs are gone; any that do not are cut off by the process exit. */
const ABORT_TIMEOUT_MS = 4000;

interface Running {
  pool: RunPool;
  leases: LeaseKeeper;
  database: Database;
  logger: Logger;
}

/** Lets runs finish until the timeout or `hurry`, and hands back the rest. */
export async function endRuns(running: Running, timeoutMs: number, hurry?: AbortSignal): Promise<void> {
  const { pool } = running;
  if (await pool.drain(timeoutMs, hurry)) return;
  // Their programs are stopped even if the database does not learn of it.
  await Promise.race([releaseLeases(running), delay(ABORT_TIMEOUT_MS)]);
  await pool.drain(ABORT_TIMEOUT_MS);
}

/** Aborts what is still running and marks it lost right away, so that another scheduler need not wait for the leases. */
async function releaseLeases({ database, leases, logger }: Running): Promise<void> {
  try {
    await leases.release();
    while (await transaction(database, async (tx) => sweepLostRun(tx))) {
      // One run per transaction; other schedulers may sweep at the same time.
    }
  } catch (err) {
    logger.warn('runs could not be handed back: their leases will expire', { error: err });
  }
}
