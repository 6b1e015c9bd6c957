import { rateLimited } from '@acp/kernel';

const RETRY_SEC = 5;

interface Turns {
  working: number;
  /** Oldest first. */
  readonly waiting: (() => void)[];
}

/**
 * Limits what this process does for one company at the same time, where one may wait for another in the database: whoever waits there
 * holds one of the few connections, without which the requests of all other companies wait.
 */
export class CompanyTurns {
  readonly #atOnce: number;
  readonly #most: number;
  readonly #companies = new Map<string, Turns>();

  /** Of one company. @param waiting how many may wait here, each with its request in memory */
  constructor({ at_once, waiting }: { at_once: number; waiting: number }) {
    this.#atOnce = at_once;
    this.#most = waiting;
  }

  /** Works when it is its turn. @throws rate_limited if too many are waiting */
  async take<T>(company_id: string, work: () => Promise<T>): Promise<T> {
    const turns = this.#companies.get(company_id) ?? { working: 0, waiting: [] };
    this.#companies.set(company_id, turns);
    if (turns.working < this.#atOnce) turns.working += 1;
    else {
      if (turns.waiting.length >= this.#most) throw rateLimited('too many requests at once', RETRY_SEC);
      // Whoever is done hands over the place.
      await new Promise<void>((begin) => turns.waiting.push(begin));
    }
    try {
      return await work();
    } finally {
      const next = turns.waiting.shift();
      if (next === undefined) turns.working -= 1;
      else next();
      if (turns.working === 0) this.#companies.delete(company_id);
    }
  }
}
