/**
 * Names for recurring statements: PostgreSQL then parses and plans them once per connection instead of every time, which is
 * more than half the cost of a primary-key read, half a millisecond on average. But each connection keeps 100 KB for a name, on
 * average, up to 700: so a text is named when it comes once a second, up to a maximum number of them. A timer's second has its work
 * and up to a tenth on top.
 */
export const OFTEN = 50;
const WITHIN_MS = 60_000;
const MAX_NAMED = 500;
const MAX_SEEN = 2000;

interface Seen {
  times: number;
  since: number;
}

export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #seen = new Map<string, Seen>();
  readonly #often: number;
  readonly #now: () => number;

  /**
   * @param often how many times a minute a text must come
   * @param now milliseconds by any clock that only advances
   */
  constructor(often = OFTEN, now: () => number = () => performance.now()) {
    this.#often = often;
    this.#now = now;
  }

  /** The same text always gets the same name; undefined for a text that is not worth one. */
  nameOf(text: string): string | undefined {
    const name = this.#names.get(text);
    if (name !== undefined || this.#names.size >= MAX_NAMED) return name;
    const now = this.#now();
    const seen = this.#seen.get(text);
    if (seen === undefined || now - seen.since > WITHIN_MS) {
      if (this.#seen.size >= MAX_SEEN) this.#seen.clear();
      this.#seen.set(text, { times: 1, since: now });
      return undefined;
    }
    seen.times += 1;
    if (seen.times < this.#often) return undefined;
    this.#seen.delete(text);
    const fresh = `s${this.#names.size + 1}`;
    this.#names.set(text, fresh);
    return fresh;
  }
}
