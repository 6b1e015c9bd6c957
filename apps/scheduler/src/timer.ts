import type { Logger } from '@acp/kernel';
import { FailureStreak } from './failure-streak.ts';
import type { TickCounters } from './tick-counters.ts';

interface TimerSettings {
  name: string;
  interval_sec: number;
  /** If set, the timer rests while idle, at most this long. */
  rest_sec?: number | undefined;
  /** How long it keeps to its interval after something happened. */
  lively_ms?: number;
  /**
   * Must be safe on several schedulers at the same time: rows are locked, or the statement decides by itself. For a timer
   * that rests, returns the milliseconds until work is due, or 0 if there was some.
   */
  work: (signal: AbortSignal) => Promise<number | void>;
  counters: TickCounters;
  logger: Logger;
}

const MAX_BACKOFF_SEC = 60;
/** A one-second timer retries within five seconds, so that leases of a dead process never wait for long. */
const MAX_BACKOFF_FACTOR = 5;
/** Activity usually leads to more: attempts fail and are due again, runs end. */
const LIVELY_MS = 10_000;
/** Random delay past the due time, so that not all schedulers wake up at once. */
const SPREAD_MS = 100;

/**
 * Repeats its work until stopped, never in overlapping ticks: the pause starts at the end of a tick. Pauses vary by a tenth,
 * so that the timers of several schedulers drift apart; after errors they double, up to a limit. A timer with `rest_sec`
 * keeps to its interval only while something happens.
 */
export class Timer {
  readonly #set: TimerSettings;
  readonly #stopped = new AbortController();
  #pause: NodeJS.Timeout | undefined;
  #tick: Promise<void> = Promise.resolve();
  readonly #failures: FailureStreak;
  #endedAt = 0;
  #idleMs = 0;
  #livelyUntil = 0;

  constructor(settings: TimerSettings) {
    this.#set = settings;
    this.#failures = new FailureStreak(settings.name, settings.logger);
    this.#beLively();
    settings.counters.declare(settings.name, settings.rest_sec ?? settings.interval_sec);
  }

  /** The first tick follows after a random part of the interval. */
  start(): void {
    this.#wait(this.#set.interval_sec * 1000 * Math.random());
  }

  /** Aborts the current tick, if any, and resolves when it has finished. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#pause);
    await this.#tick;
  }

  /** Called when something has happened: a resting timer ticks again, as soon as its interval allows. */
  wake(): void {
    if (this.#set.rest_sec === undefined) return;
    const now = performance.now();
    const isResting = now >= this.#livelyUntil && this.#pause !== undefined;
    this.#beLively();
    if (!isResting || this.#failures.length > 0) return;
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
    if (restMs > intervalMs && this.#failures.length === 0 && performance.now() >= this.#livelyUntil)
      return Math.min(Math.max(this.#idleMs, intervalMs), restMs) + SPREAD_MS * Math.random();
    const ceilingMs = Math.min(MAX_BACKOFF_FACTOR * intervalMs, MAX_BACKOFF_SEC * 1000);
    return this.#failures.pauseMs(intervalMs, ceilingMs) * (0.9 + 0.2 * Math.random());
  }

  async #run(): Promise<void> {
    const { name, work, counters } = this.#set;
    try {
      const idleMs = await counters.count(name, async () => work(this.#stopped.signal));
      this.#idleMs = idleMs ?? 0;
      if (idleMs === 0) this.#beLively();
      this.#failures.worked();
    } catch (err) {
      if (!this.#stopped.signal.aborted) this.#failures.failed(err);
    }
  }
}
