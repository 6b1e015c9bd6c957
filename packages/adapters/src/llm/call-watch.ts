import { AdapterError } from '../adapter-error.ts';

// setTimeout turns anything longer into one millisecond.
const longestTimer = 2 ** 31 - 1;

function milliseconds(seconds: number): number {
  return Math.min(seconds * 1000, longestTimer);
}

/**
 * Everything that may end a call from outside: the caller's signal, silence, the total time. Its own signal is passed to every
 * request of the call, so that sockets are closed immediately; its reason is the error to throw.
 */
export class CallWatch {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #total: NodeJS.Timeout;
  readonly #idle: NodeJS.Timeout;
  #waiting = false;

  constructor(caller: AbortSignal, timeouts: { idle_sec: number; total_sec: number }) {
    const { idle_sec: idle, total_sec: total } = timeouts;
    this.#caller = caller;
    this.#total = setTimeout(
      () => this.#abort(new AdapterError('timeout', `no complete answer within ${total} s`)),
      milliseconds(total),
    );
    this.#idle = setTimeout(() => {
      if (this.#waiting) this.#abort(new AdapterError('timeout', `the provider was silent for ${idle} s`));
    }, milliseconds(idle));
    caller.addEventListener('abort', this.#cancel);
    if (caller.aborted) this.#cancel();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Throws once the call is over. */
  check(): void {
    this.signal.throwIfAborted();
  }

  /**
   * Waits for bytes from the provider. The idle timer runs only here: a slow consumer of the answer, which delays reading, does
   * not make the provider silent.
   */
  async bytes<T>(promise: Promise<T>): Promise<T> {
    this.#waiting = true;
    this.#idle.refresh();
    try {
      return await this.unlessOver(promise);
    } finally {
      this.#waiting = false;
    }
  }

  /** The promise, or the reason for ending if that comes first: nothing that hangs can delay a cancel. */
  unlessOver<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    return new Promise<T>((resolve, reject) => {
      const over = () => reject(reasonOf(signal));
      if (signal.aborted) over();
      signal.addEventListener('abort', over, { once: true });
      promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', over));
    });
  }

  async sleep(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const slept = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    try {
      await this.unlessOver(slept);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends whatever is still open. */
  close(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#idle);
    this.#caller.removeEventListener('abort', this.#cancel);
    this.#abort(new AdapterError('cancelled', 'the call is over'));
  }

  readonly #cancel = (): void => this.#abort(new AdapterError('cancelled', 'cancelled'));

  #abort(reason: AdapterError): void {
    this.#controller.abort(reason);
  }
}

function reasonOf(signal: AbortSignal): AdapterError {
  return signal.reason instanceof AdapterError ? signal.reason : new AdapterError('cancelled', 'cancelled');
}
