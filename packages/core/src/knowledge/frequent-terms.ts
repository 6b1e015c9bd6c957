/**
 * Cache of the counts of terms that very many of a company's passages contain: the words that occur in every question.
 * Counting one takes longer than the rest of a search, says almost nothing, and changes little within ten minutes.
 */
export class FrequentTerms {
  readonly #most: number;
  readonly #kept_ms: number;
  /** How many passages contain each, and when to count again; oldest entries first. */
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
