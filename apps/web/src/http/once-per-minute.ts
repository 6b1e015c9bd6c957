const MINUTE_MS = 60_000;
const MAX_KEYS = 10_000;

/** Lets through the first of equal events within a minute, in this process; bounded: the oldest are forgotten. */
export class OncePerMinute {
  readonly #seen = new Map<string, number>();

  first(key: string, now = performance.now()): boolean {
    const at = this.#seen.get(key);
    if (at !== undefined && now - at < MINUTE_MS) return false;
    this.#seen.delete(key);
    this.#seen.set(key, now);
    const oldest = this.#seen.keys().next();
    if (this.#seen.size > MAX_KEYS && !oldest.done) this.#seen.delete(oldest.value);
    return true;
  }
}
