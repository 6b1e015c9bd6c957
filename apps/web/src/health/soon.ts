import { setTimeout as delay } from 'node:timers/promises';

/** Limit of a check: the prober gives up soon after. */
export const CHECK_MS = 5000;

/**
 * Null if the work fails or takes too long: a database that was frozen, or cut off from the network, answers nothing at all, and
 * no error ends the wait.
 */
export async function soon<T>(work: Promise<T>, most_ms = CHECK_MS): Promise<T | null> {
  const over = new AbortController();
  const late = delay(most_ms, null, { signal: over.signal, ref: false }).catch(() => null);
  try {
    return await Promise.race([work.catch(() => null), late]);
  } finally {
    over.abort();
  }
}
