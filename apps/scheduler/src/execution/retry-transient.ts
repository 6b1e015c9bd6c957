import { setTimeout as delay } from 'node:timers/promises';
import { asServiceError, isConnectionError } from '@acp/db';
import type { Logger, ServiceError } from '@acp/kernel';
import type { HeldRun } from './held-run.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
const BUSY_ATTEMPTS = 10;

/**
 * Repeats a run's work on the database while that is unreachable (as long as the lease lasts) or busy (a few times). The work may
 * encounter its own effects: a commit whose answer was lost may have taken effect. Throws RunStopped when the run is no
 * longer ours.
 */
export async function retryTransient<T>(held: HeldRun, logger: Logger, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    held.assertOurs();
    try {
      return await work();
    } catch (err) {
      if (!transientTrouble(err) || (attempt >= BUSY_ATTEMPTS && !isConnectionError(err))) throw err;
      if (attempt === 1)
        logger.warn('a write of a run is being retried', { run_id: held.run_id, error: err });
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
      await delay(pause * (0.5 + Math.random()));
    }
  }
}

/** Trouble of the database or the store, which carries its cause; a command's own `unavailable` is final. */
export function transientTrouble(err: unknown): ServiceError | undefined {
  const known = asServiceError(err);
  return known?.kind === 'unavailable' && (known !== err || known.cause !== undefined) ? known : undefined;
}
