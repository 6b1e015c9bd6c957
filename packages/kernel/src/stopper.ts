/** Process shutdown: graceful, bounded in time, and never leaving anything running. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from './logger.ts';

/**
 * A single Ctrl-C arrives more than once: the terminal signals the whole process group, npm forwards it to its child, and a
 * closing terminal adds SIGHUP. Signals within this time count as one request; a later one means: hurry.
 */
export const ONE_WISH_MS = 1000;
/** Added to the drain time: for killing programs, closing connections and stopping the embedded database. */
const CLOSE_MS = 5000;
/** The part of it reserved for what is done when nothing else has worked. */
const LAST_RESORT_MS = 500;

/** How much time requests and runs get to finish; `hurry` aborts when there is none left. */
export interface StopOptions {
  drain_ms: number;
  hurry: AbortSignal;
}

export interface Stoppable {
  stop(options: StopOptions): Promise<void>;
  /** Kills whatever must not be left behind if `stop` does not finish. */
  kill(): Promise<void>;
}

interface StopSettings {
  logger: Logger;
  drain_ms: number;
  exit: (code: number) => void;
}

/** The only way in which the process ends once it has begun to start. */
export class Stopper {
  readonly #set: StopSettings;
  readonly #starting = new AbortController();
  readonly #hurry = new AbortController();
  #service: Stoppable | undefined;
  #toldAt = 0;
  #code = 0;
  /** On the monotonic clock. */
  #endsAt = Infinity;
  #deadline: NodeJS.Timeout | undefined;

  constructor(settings: StopSettings) {
    this.#set = settings;
  }

  /** Aborts a start in progress. */
  get signal(): AbortSignal {
    return this.#starting.signal;
  }

  /** Handles the process's signals and uncaught errors; after the latter its state is unknown, so it ends. */
  listen(): void {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => this.told(signal));
    // SIGQUIT means: no patience.
    process.on('SIGQUIT', () => this.told('SIGQUIT', true));
    process.on('unhandledRejection', (error) => this.#crash('unhandled rejection', error));
    process.on('uncaughtException', (error) => this.#crash('uncaught exception', error));
  }

  /** The service is up; if a signal arrived in the meantime it is stopped again. */
  started(service: Stoppable): void {
    this.#service = service;
    if (this.signal.aborted) void this.#stop();
  }

  told(signal: string, hurry = false): void {
    const first = !this.signal.aborted;
    const now = performance.now();
    if (first) {
      this.#toldAt = now;
      this.#set.logger.info('stopping', { signal });
      this.#endWithin(this.#set.drain_ms + CLOSE_MS);
      this.#starting.abort(new Error(`stopped by ${signal}`));
      void this.#stop();
    }
    if (hurry || (!first && now - this.#toldAt > ONE_WISH_MS)) this.#hurryUp(signal);
  }

  /** Waits for nothing: the supervisor starts a fresh process, and expired leases take care of the rest. */
  #crash(what: string, error: unknown): void {
    this.#set.logger.error(what, { error });
    this.#code = 1;
    this.told('a defect', true);
  }

  #hurryUp(signal: string): void {
    if (this.#hurry.signal.aborted) return;
    this.#set.logger.warn('stopping at once', { signal });
    this.#endWithin(CLOSE_MS);
    this.#code = 1;
    this.#hurry.abort();
  }

  async #stop(): Promise<void> {
    // Still starting: the start either fails because of its signal or calls `started`.
    if (this.#service === undefined) return;
    const { logger, drain_ms, exit } = this.#set;
    try {
      await this.#service.stop({ drain_ms, hurry: this.#hurry.signal });
    } catch (error) {
      logger.error('the stop was not clean', { error });
      this.#code = 1;
    }
    exit(this.#code);
  }

  /** An orderly shutdown can hang forever, for example on a database that never answers. */
  #endWithin(ms: number): void {
    const endsAt = performance.now() + ms;
    if (endsAt > this.#endsAt) return;
    this.#endsAt = endsAt;
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => void this.#cutOff(), ms - LAST_RESORT_MS);
  }

  async #cutOff(): Promise<void> {
    const { logger, exit } = this.#set;
    logger.error('the stop took too long: what is left is cut off');
    const killed = this.#service
      ?.kill()
      .catch((error: unknown) => logger.error('could not be killed', { error }));
    await Promise.race([killed, delay(LAST_RESORT_MS)]);
    exit(1);
  }
}
