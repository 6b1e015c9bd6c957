import type { Logger } from '@acp/kernel';
import type { TickCounters } from './tick-counters.ts';

interface TimerSettings {
  name: string;
  interval_sec: number;
  /** The longest pause of one that rests while there is nothing to do. */
  rest_sec?: number | undefined;
  /** How long it keeps to its interval after something happened. */
  lively_ms?: number;
  /**
   * Safe with several schedulers at once: rows are locked, or the statement is its own judge. Of one that rests: gives the
   * milliseconds for which nothing is to be done, 0 where there was something.
   */
  work: (signal: AbortSignal) => Promise<number | void>;
  counters: TickCounters;
  logger: Logger;
}

const MAX_BACKOFF_SEC = 60;
/** A timer of a second is back within five, so that leases of a dead process never wait for long. */
const MAX_BACKOFF_FACTOR = 5;
/** What happens mostly leads to more: attempts fail and are due again, runs end. */
const LIVELY_MS = 10_000;
/** Later than the moment itself, and not all schedulers at once. */
const SPREAD_MS = 100;

/**
 * Repeats its work until stopped, never two ticks at once: the pause is counted from the end of a tick. Pauses vary by
 * a tenth, so that the timers of several schedulers drift apart; after errors they double, within limits. One with
 * `rest_sec` keeps to its interval only while something happens.
 */
export class Timer {
  readonly #set: TimerSettings;
  readonly #stopped = new AbortController();
  #pause: NodeJS.Timeout | undefined;
  #tick: Promise<void> = Promise.resolve();
  #failures = 0;
  #endedAt = 0;
  #idleMs = 0;
  #livelyUntil = 0;

  constructor(settings: TimerSettings) {
    this.#set = settings;
    this.#beLively();
    settings.counters.declare(settings.name, settings.rest_sec ?? settings.interval_sec);
  }

  /** The first tick comes after a random part of the interval. */
  start(): void {
    this.#wait(this.#set.interval_sec * 1000 * Math.random());
  }

  /** Resolves when a tick under way has ended; its signal aborts. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#pause);
    await this.#tick;
  }

  /** Something has happened: one that rests ticks again, as soon as its interval allows. */
  wake(): void {
    if (this.#set.rest_sec === undefined) return;
    const now = performance.now();
    const isResting = now >= this.#livelyUntil && this.#pause !== undefined;
    this.#beLively();
    if (!isResting || this.#failures > 0) return;
    clearTimeout(this.#pause);
    this.#wait(Math.max(0, this.#endedAt + this.#set.interval_sec * 1000 - now));
  }

  #beLively(): void {
    this.#livelyUntil = performance.now() + (this.#set.lively_ms ?? LIVELY_MS);
  }

  #wait(ms: number): void {
    if (this.#stopped.signal.aborted) return;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#tick = this.#run().finally(() => {
        this.#endedAt = performance.now();
        this.#wait(this.#nextPauseMs());
      });
    }, ms).unref();
  }

  #nextPauseMs(): number {
    const intervalMs = this.#set.interval_sec * 1000;
    const restMs = (this.#set.rest_sec ?? 0) * 1000;
    if (restMs > intervalMs && this.#failures === 0 && performance.now() >= this.#livelyUntil)
      return Math.min(Math.max(this.#idleMs, intervalMs), restMs) + SPREAD_MS * Math.random();
    const ceilingMs = Math.max(intervalMs, Math.min(MAX_BACKOFF_FACTOR * intervalMs, MAX_BACKOFF_SEC * 1000));
    return Math.min(intervalMs * 2 ** this.#failures, ceilingMs) * (0.9 + 0.2 * Math.random());
  }

  async #run(): Promise<void> {
    const { name, work, counters, logger } = this.#set;
    try {
      const idleMs = await counters.count(name, async () => work(this.#stopped.signal));
      this.#idleMs = idleMs ?? 0;
      if (idleMs === 0) this.#beLively();
      if (this.#failures > 0) logger.info('a timer works again', { timer: name, failures: this.#failures });
      this.#failures = 0;
    } catch (err) {
      if (this.#stopped.signal.aborted) return;
      this.#failures += 1;
      // The first failure, then ever more rarely: a database that is down for an hour makes a dozen lines.
      if (Number.isInteger(Math.log2(this.#failures))) {
        logger.warn('a timer failed', { timer: name, failures: this.#failures, error: err });
      }
    }
  }
}
