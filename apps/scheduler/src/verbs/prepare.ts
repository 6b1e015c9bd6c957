import { unavailable } from '@acp/kernel';
import { RunStopped } from '../execution/held-run.ts';
import type { HeldRun } from '../execution/held-run.ts';
import type { PrepareContext } from './verb.ts';

/** Upper limit, whatever a provider asks for. */
const LONGEST_MS = 120_000;

/**
 * Returns the work's result, unless the run is stopped or the time runs out first; work that ignores its signal is
 * abandoned. Throws RunStopped, and `unavailable` at the deadline.
 */
export function boundedBy(held: HeldRun): PrepareContext['within'] {
  return async (ms, work) => {
    held.assertHeld();
    const limit = Math.min(ms, LONGEST_MS);
    const deadline = AbortSignal.timeout(limit);
    const signal = AbortSignal.any([held.signal, deadline]);
    const { promise: over, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(reasonOf(held, limit));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([work(signal), over]);
    } catch (err) {
      // An error thrown after the abort is a consequence of it.
      throw signal.aborted ? reasonOf(held, limit) : err;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  };
}

function reasonOf(held: HeldRun, ms: number): Error {
  if (held.stopped !== null) return new RunStopped(held.stopped);
  return unavailable(`no answer within ${ms / 1000} s`);
}
