/**
 * Terms that very many passages of a company have, as this process has counted them. Counting one takes longer than the
 * rest of a search, it says nearly nothing, and it will be as frequent in the next ten minutes: the words that every question has.
 */
export class FrequentTerms {
  readonly #most: number;
  readonly #kept_ms: number;
  /** In how many each is, and when it is to be counted again; the longest known are first. */
  readonly #known = new Map<string, { found: number; until: number }>();

  constructor({ most, kept_ms }: { most: number; kept_ms: number }) {
    this.#most = most;
    this.#kept_ms = kept_ms;
  }

  found(company_id: string, term: string): number | undefined {
    const known = this.#known.get(keyOf(company_id, term));
    return known !== undefined && known.until > performance.now() ? known.found : undefined;
  }

  add(company_id: string, term: string, found: number): void {
    const name = keyOf(company_id, term);
    this.#known.delete(name);
    this.#known.set(name, { found, until: performance.now() + this.#kept_ms });
    if (this.#known.size > this.#most) this.#known.delete(this.#known.keys().next().value ?? '');
  }
}

const keyOf = (company_id: string, term: string): string => `${company_id} ${term}`;
