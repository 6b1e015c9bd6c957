/**
 * Gives memory back that a quiet process does not need. V8 lets its heap grow under load and, without an embedder that
 * tells it when nothing happens, keeps it: what start-up leaves behind is three times what the service needs.
 */
import { performance } from 'node:perf_hooks';
import { collector } from '@acp/kernel';

const LOOK_EVERY_MS = 5000;
/** Share of the time in which the event loop was not waiting; a pair of idle tiers is below a hundredth. */
const QUIET = 0.02;

/** Collects once whenever a time of work (the start is the first) has ended; about 80 ms, when nobody waits. */
export function releaseMemoryWhenIdle(lookEveryMs = LOOK_EVERY_MS): void {
  const collect = collector();
  let before = performance.eventLoopUtilization();
  let worked = true;
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const busy = performance.eventLoopUtilization(now, before).utilization > QUIET;
    before = now;
    if (worked && !busy) {
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      // Its own time is no work.
      before = performance.eventLoopUtilization();
    }
    worked = busy;
  }, lookEveryMs).unref();
}
