/** From a signal to the end of the process: politely, in a bounded time, and never leaving something running. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from './logger.ts';

/**
 * One Ctrl-C arrives more than once: the terminal tells the whole process group, npm passes it on to its child, and a
 * terminal that closes adds SIGHUP. What comes within this time is the same wish; later it is another: to hurry.
 */
export const ONE_WISH_MS = 1000;
/** Beyond the drain: for programs to be killed, connections to be closed and the embedded database to stop. */
const CLOSE_MS = 5000;
/** Of them, for what is done when all that did not come to an end. */
const LAST_RESORT_MS = 500;

/** How much time there is for requests and runs to end by themselves; `hurry` says that there is none any more. */
export interface StopOptions {
  drain_ms: number;
  hurry: AbortSignal;
}

export interface Stoppable {
  stop(options: StopOptions): Promise<void>;
  /** What must not be left behind when `stop` does not end. */
  kill(): Promise<void>;
}

export interface StopSettings {
  logger: Logger;
  drain_ms: number;
  exit: (code: number) => void;
}

/** The one way in which the process ends once it has begun to start. */
export class Stopper {
  readonly #set: StopSettings;
  readonly #starting = new AbortController();
  readonly #hurry = new AbortController();
  #service: Stoppable | undefined;
  #toldAt = 0;
  #code = 0;
  /** By the monotonic clock. */
  #endsAt = Infinity;
  #deadline: NodeJS.Timeout | undefined;

  constructor(settings: StopSettings) {
    this.#set = settings;
  }

  /** Aborts a start that is under way. */
  get signal(): AbortSignal {
    return this.#starting.signal;
  }

  /** Hears signals of the process, and its defects: what nobody caught leaves it in an unknown state, so it ends. */
  listen(): void {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => this.told(signal));
    // A quit asks for no patience.
    process.on('SIGQUIT', () => this.told('SIGQUIT', true));
    process.on('unhandledRejection', (error) => this.#crash('unhandled rejection', error));
    process.on('uncaughtException', (error) => this.#crash('uncaught exception', error));
  }

  /** The service is up; where a signal came meanwhile it is stopped again. */
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

  /** Nothing is waited for; the supervisor learns of it and starts a fresh process, and the leases do the rest. */
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
    // Still starting: the start fails by its signal, or tells of its service.
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

  /** A database that never answers, say, can hold up an orderly end forever. */
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
