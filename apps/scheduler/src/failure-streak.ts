import type { Logger } from '@acp/kernel';

/** Failures in a row of something that is repeated. */
export class FailureStreak {
  readonly #timer: string;
  readonly #logger: Logger;
  #length = 0;

  constructor(timer: string, logger: Logger) {
    this.#timer = timer;
    this.#logger = logger;
  }

  get length(): number {
    return this.#length;
  }

  /** Logs the first failure, then ever more rarely: a database that is down for an hour produces a dozen lines. */
  failed(error: unknown): void {
    this.#length += 1;
    if (Number.isInteger(Math.log2(this.#length)))
      this.#logger.warn('a timer failed', { timer: this.#timer, failures: this.#length, error });
  }

  worked(): void {
    if (this.#length > 0)
      this.#logger.info('a timer works again', { timer: this.#timer, failures: this.#length });
    this.#length = 0;
  }

  /** The interval, doubled with each failure up to the ceiling (but never below the interval). */
  pauseMs(intervalMs: number, ceilingMs: number): number {
    return Math.min(intervalMs * 2 ** this.#length, Math.max(intervalMs, ceilingMs));
  }
}
