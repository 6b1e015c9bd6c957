import type { Logger } from '@acp/kernel';
import { isTrouble, Refusal } from './control-plane.ts';

/**
 * How the worker stands with its service, over all loops: each change is said once, however many requests fail. What was
 * thrown and is no answer and no absence of one is a defect, and is thrown on.
 */
export class Link {
  readonly #logger: Logger;
  readonly #url: string;
  readonly #unknownKey: () => void;
  #trouble: string | null = null;

  /** @param unknownKey told when the service does not know the worker's key any more */
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

  /** @returns what the service asks to wait before the next try, in milliseconds */
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
