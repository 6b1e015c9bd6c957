import { setTimeout as delay } from 'node:timers/promises';

const LOOK_MS = 300;

/** Polls until something is found; undefined once the signal aborts. */
export async function until<T>(
  signal: AbortSignal,
  look: () => Promise<T>,
): Promise<NonNullable<T> | undefined> {
  while (!signal.aborted) {
    const found = await look();
    if (found) return found;
    await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}
