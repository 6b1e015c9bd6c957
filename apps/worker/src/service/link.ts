import type { Logger } from '@acp/kernel';
import { isTrouble, Refusal } from './control-plane.ts';

/**
 * State of the connection to the service, shared by all loops: each change is logged once, however many requests fail. Errors
 * that are neither a response nor the lack of one are bugs, and are rethrown.
 */
export class Link {
  readonly #logger: Logger;
  readonly #url: string;
  readonly #unknownKey: () => void;
  #trouble: string | null = null;

  /** @param unknownKey called when the service no longer knows the worker's key */
  constructor(logger: Logger, url: string, unknownKey: () => void) {
    this.#logger = logger;
    this.#url = url;
    this.#unknownKey = unknownKey;
  }

  works(): void {
    if (this.#trouble === null) return;
    this.#trouble = null;
    this.#logger.info('the service answers again', { url: this.#url });
  }

  /** @returns the delay requested by the service before the next attempt, in milliseconds */
  fails(err: unknown): number | null {
    if (!isTrouble(err)) throw err;
    const refused = err instanceof Refusal ? err : null;
    const trouble = `${refused?.status ?? ''} ${err.message}`;
    if (trouble !== this.#trouble) {
      this.#trouble = trouble;
      this.#logger.warn(refused === null ? 'the service can’t be reached' : 'the service refuses', {
        url: this.#url,
        ...(refused === null ? {} : { status: refused.status }),
        reason: err.message,
      });
    }
    if (refused?.status === 401) this.#unknownKey();
    return refused?.retry_after_ms ?? null;
  }
}
