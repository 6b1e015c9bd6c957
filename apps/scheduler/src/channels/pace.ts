import { setTimeout as pause } from 'node:timers/promises';
import type { WritingLimits } from './channel-link.ts';

/** Pause between two messages to one conversation: vendors require a second. */
const BETWEEN_MS = 1000;
const MOST_KNOWN = 1000;

/** When a channel may write: messages wait for their turn, steps of a growing reply take one if there is one. */
export class Pace {
  readonly #betweenMs: number;
  readonly #wroteAt = new Map<string, number>();
  #steppedAt = -Infinity;
  /** The vendor asked us to pause until then. */
  #quietUntil = 0;

  constructor(between_ms = BETWEEN_MS) {
    this.#betweenMs = between_ms;
  }

  /** How long the vendor still wants silence. */
  get quiet_ms(): number {
    return Math.max(0, this.#quietUntil - performance.now());
  }

  quietFor(sec: number): void {
    this.#quietUntil = Math.max(this.#quietUntil, performance.now() + sec * 1000);
  }

  /** Waits until a message may be written; call `wrote` when it has arrived. */
  async waitTurn(conversation: string, signal: AbortSignal): Promise<void> {
    const wait = (this.#wroteAt.get(conversation) ?? -Infinity) + this.#betweenMs - performance.now();
    if (wait > 0) await pause(wait, undefined, { signal });
    this.wrote(conversation);
  }

  /** @returns whether a step may be shown now; it then counts as shown */
  takeStep(conversation: string, limits: WritingLimits): boolean {
    const now = performance.now();
    const since = now - (this.#wroteAt.get(conversation) ?? -Infinity);
    const isTurn = since >= limits.step_ms(conversation) && now - this.#steppedAt >= limits.between_ms;
    if (!isTurn || this.quiet_ms > 0) return false;
    this.#steppedAt = now;
    this.wrote(conversation);
    return true;
  }

  wrote(conversation: string): void {
    if (this.#wroteAt.size > MOST_KNOWN) this.#wroteAt.clear();
    this.#wroteAt.set(conversation, performance.now());
  }
}
