import { setImmediate as turn } from 'node:timers/promises';

/** Instants are kept in milliseconds, rounded: so much later the next one is another. */
const APART_MS = 2;

/** Between rows whose order in a list a test looks at: those of one instant are in no order. */
export async function nextInstant(): Promise<void> {
  const from = performance.now();
  while (performance.now() - from < APART_MS) await turn();
}
