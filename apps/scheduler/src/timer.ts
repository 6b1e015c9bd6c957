import type { Logger } from '@acp/kernel';
import type { TickCounters } from './tick-counters.ts';

interface TimerSettings {
  name: string;
  interval_sec: number;
  /** Safe with several schedulers at once: rows are locked, or the statement is its own judge. */
  work: (signal: AbortSignal) => Promise<void>;
  counters: TickCounters;
  logger: Logger;
}

const MAX_BACKOFF_SEC = 60;
/** A timer of a second is back within five, so that leases of a dead process never wait for long. */
const MAX_BACKOFF_FACTOR = 5;

/**
 * Repeats its work until stopped, never two ticks at once: the pause is counted from the end of a tick. Pauses vary by
 * a tenth, so that the timers of several schedulers drift apart; after errors they double, within limits.
 */
export class Timer {
  readonly #set: TimerSettings;
  readonly #stopped = new AbortController();
  #pause: NodeJS.Timeout | undefined;
  #tick: Promise<void> = Promise.resolve();
  #failures = 0;

  constructor(settings: TimerSettings) {
    this.#set = settings;
    settings.counters.declare(settings.name, settings.interval_sec);
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

  #wait(ms: number): void {
    if (this.#stopped.signal.aborted) return;
    this.#pause = setTimeout(() => {
      this.#tick = this.#run().finally(() => this.#wait(this.#nextPauseMs()));
    }, ms).unref();
  }

  #nextPauseMs(): number {
    const intervalMs = this.#set.interval_sec * 1000;
    const ceilingMs = Math.max(intervalMs, Math.min(MAX_BACKOFF_FACTOR * intervalMs, MAX_BACKOFF_SEC * 1000));
    return Math.min(intervalMs * 2 ** this.#failures, ceilingMs) * (0.9 + 0.2 * Math.random());
  }

  async #run(): Promise<void> {
    const { name, work, counters, logger } = this.#set;
    try {
      await counters.count(name, async () => work(this.#stopped.signal));
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
