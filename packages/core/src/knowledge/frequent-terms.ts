/**
 * Terms that very many passages of a company have, as this process has counted them. Counting one takes longer than the
 * rest of a search, it says nearly nothing, and it will be as frequent in the next ten minutes: the words that every question has.
 */
export class FrequentTerms {
  readonly #most: number;
  readonly #kept_ms: number;
  /** When each is to be counted again; the longest known are first. */
  readonly #until = new Map<string, number>();

  constructor({ most, kept_ms }: { most: number; kept_ms: number }) {
    this.#most = most;
    this.#kept_ms = kept_ms;
  }

  has(company_id: string, term: string): boolean {
    return (this.#until.get(keyOf(company_id, term)) ?? 0) > performance.now();
  }

  add(company_id: string, term: string): void {
    const name = keyOf(company_id, term);
    this.#forget(name);
    this.#until.set(name, performance.now() + this.#kept_ms);
    if (this.#until.size > this.#most) this.#forget(this.#until.keys().next().value ?? '');
  }

  #forget(each: string): void {
    this.#until.delete(each);
  }
}

const keyOf = (company_id: string, term: string): string => `${company_id} ${term}`;
