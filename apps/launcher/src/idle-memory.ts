/**
 * Keeps the heap close to its live objects and releases memory that an idle process does not need. V8 grows its heap under
 * load and, without an embedder that reports idleness, keeps it: what startup leaves behind is three times what the service needs.
 */
import { flushCompileCache } from 'node:module';
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { collector } from '@acp/kernel';

/**
 * How far the heap may grow past its live objects before the next collection, in percent. V8 by itself lets it grow up to
 * fourfold, depending on the machine's memory.
 */
const GROWTH_PERCENT = 30;
const LOOK_EVERY_MS = 5000;
/** With these, a collection also drops compiled code: V8 compiles anew what is called again. */
const DROP_CODE = ['stress-flush-code', 'flush-baseline-code'];
/** Event loop utilisation below which a process counts as idle; a pair of idle tiers stays below 0.01. */
const QUIET = 0.02;

/** What main.mjs switches off. */
const COMPILERS = ['opt', 'maglev'];

/** Call it once everything is loaded: V8 rejects cached code that was compiled under other flags. */
export function endStart(): void {
  for (const compiler of COMPILERS) setFlagsFromString(`--${compiler}`);
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

/**
 * Collects garbage and drops compiled code once after each busy period (startup is the first); takes about 80 ms while no one is waiting.
 * @param rest gives back what others keep for this process
 */
export function releaseMemoryWhenIdle(rest: () => Promise<void>, lookEveryMs = LOOK_EVERY_MS): void {
  const collect = collector();
  let before = performance.eventLoopUtilization();
  let worked = true;
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const busy = performance.eventLoopUtilization(now, before).utilization > QUIET;
    before = now;
    if (worked && !busy) {
      // Holds what was loaded since the start.
      flushCompileCache();
      void rest();
      for (const flag of DROP_CODE) setFlagsFromString(`--${flag}`);
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      for (const flag of DROP_CODE) setFlagsFromString(`--no-${flag}`);
      // The collection itself doesn't count as work.
      before = performance.eventLoopUtilization();
    }
    worked = busy;
  }, lookEveryMs).unref();
}
