/** The tasks in the worker's hands: what it works on, and what it has not delivered yet. */

/** Why a task is broken off: no report of it is to be made. */
export class BrokenOff extends Error {
  override name = 'BrokenOff';
}

export interface HeldTask {
  id: string;
  abort: AbortController;
  /** False once only its report is to be delivered. */
  working: boolean;
}

export class Hands {
  readonly #most: number;
  readonly #held = new Map<string, HeldTask>();
  #changed = Promise.withResolvers<void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Reports that are not delivered hold their place: a service that can't take results is asked for no tasks. */
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

  /** Resolves when a task has been let go, or the signal is aborted. */
  async change(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const told = Promise.withResolvers<void>();
    const onAbort = () => told.resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#changed.promise, told.promise]);
    signal.removeEventListener('abort', onAbort);
  }
}
