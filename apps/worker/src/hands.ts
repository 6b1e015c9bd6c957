/** The worker's current tasks: those in progress, and those whose results are not delivered yet. */

/** Why a task was aborted: no report is sent for it. */
export class BrokenOff extends Error {
  override name = 'BrokenOff';
}

export interface HeldTask {
  id: string;
  abort: AbortController;
  /** False once only its report remains to be delivered. */
  working: boolean;
}

export class Hands {
  readonly #most: number;
  readonly #held = new Map<string, HeldTask>();
  #changed = Promise.withResolvers<void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Undelivered reports keep their slot: a service that can't accept results is not asked for tasks. */
  get free(): number {
    return Math.max(0, this.#most - this.#held.size);
  }

  /** For the heartbeat. */
  get ids(): string[] {
    return [...this.#held.keys()];
  }

  get working(): HeldTask[] {
    return [...this.#held.values()].filter(({ working }) => working);
  }

  take(id: string, working = true): HeldTask {
    const held = { id, abort: new AbortController(), working };
    this.#held.set(id, held);
    return held;
  }

  letGo(id: string): void {
    this.#held.delete(id);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  /** Resolves when a task has been released or the signal aborts. */
  async change(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const aborted = Promise.withResolvers<void>();
    const onAbort = () => aborted.resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#changed.promise, aborted.promise]);
    signal.removeEventListener('abort', onAbort);
  }
}
