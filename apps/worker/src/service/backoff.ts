import { setTimeout as delay } from 'node:timers/promises';

const FIRST_MS = 500;
const MOST_MS = 30_000;

/** Growing delays after failures, each randomly shortened, so that a fleet does not return all at once. */
export class Backoff {
  readonly #most: number;
  #next = FIRST_MS;

  constructor(most_ms = MOST_MS) {
    this.#most = most_ms;
  }

  reset(): void {
    this.#next = FIRST_MS;
  }

  /** @param at_least delay requested by the service in milliseconds, honoured up to our own limit */
  next(at_least: number | null = null): number {
    const wait = this.#next;
    this.#next = Math.min(this.#next * 2, this.#most);
    return Math.max(jittered(Math.min(wait, this.#most)), Math.min(at_least ?? 0, this.#most * 2));
  }
}

/** Between 75 % and 100 % of it. */
export function jittered(ms: number): number {
  return ms * (0.75 + Math.random() / 4);
}

/** Resolves early, and never rejects, when the signal aborts. Durations are monotonic. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
