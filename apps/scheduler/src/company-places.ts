/**
 * Works that one process has under way for companies, so many in all and fewer of one company: what one of them asks of
 * others may take minutes, and nobody else is to wait for it.
 */
export class CompanyPlaces {
  readonly #all: number;
  readonly #ofOne: number;
  readonly #working = new Map<Promise<void>, string>();

  constructor({ all, ofOne }: { all: number; ofOne: number }) {
    this.#all = all;
    this.#ofOne = ofOne;
  }

  get free(): number {
    return Math.max(0, this.#all - this.#working.size);
  }

  /** Companies that have as many places as one may. */
  full(): string[] {
    const taken = new Map<string, number>();
    for (const company of this.#working.values()) taken.set(company, (taken.get(company) ?? 0) + 1);
    return [...taken].filter(([, count]) => count >= this.#ofOne).map(([company]) => company);
  }

  /** @param work sees to its own failures */
  begin(company_id: string, work: () => Promise<void>): void {
    const done = work().finally(() => this.#working.delete(done));
    this.#working.set(done, company_id);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#working.keys());
  }
}
