/**
 * Limits the work in progress of one process, in total and per company: work for one company may wait minutes for others'
 * servers, which must not hold up the rest.
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

  /** Companies that have reached their limit. */
  full(): string[] {
    const taken = new Map<string, number>();
    for (const company of this.#working.values()) taken.set(company, (taken.get(company) ?? 0) + 1);
    return [...taken].filter(([, count]) => count >= this.#ofOne).map(([company]) => company);
  }

  /** @param work handles its own failures */
  begin(company_id: string, work: () => Promise<void>): void {
    const done = work().finally(() => this.#working.delete(done));
    this.#working.set(done, company_id);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#working.keys());
  }
}
