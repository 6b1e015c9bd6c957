import { AdapterError } from '../adapter-error.ts';

/** Combines the caller's signal and a timeout into one signal, whose reason is the AdapterError to throw. */
export class TimeLimit {
  readonly #abort = new AbortController();
  readonly #caller: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = () => this.#abort.abort(new AdapterError('cancelled', 'cancelled'));

  constructor(caller: AbortSignal, seconds: number) {
    this.#caller = caller;
    this.#timer = setTimeout(() => {
      this.#abort.abort(new AdapterError('timeout', `no end within ${Math.round(seconds)} s`));
    }, seconds * 1000);
    if (caller.aborted) this.#onAbort();
    else caller.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Throws the reason once the time is up. */
  check(): void {
    this.#abort.signal.throwIfAborted();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#onAbort);
  }
}
