import { setImmediate as turn } from 'node:timers/promises';

/** Timestamps are rounded to milliseconds: after this delay the next one is guaranteed to differ. */
const APART_MS = 2;

/** Call between creating rows whose list order a test checks: rows with equal timestamps have no defined order. */
export async function nextInstant(): Promise<void> {
  const from = performance.now();
  while (performance.now() - from < APART_MS) await turn();
}
