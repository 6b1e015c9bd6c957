import { rateLimited } from '@acp/kernel';

const RETRY_SEC = 5;

interface Turns {
  working: number;
  /** Oldest first. */
  readonly waiting: Set<() => void>;
}

interface TurnLimits {
  /** Of one owner. */
  at_once: number;
  /** How many of one owner may wait here, each with its request in memory. Default: any number. */
  waiting?: number;
  /** And for how long. */
  wait_ms: number;
}

/**
 * Limits what this process does for one owner, usually a company, at the same time, where one may wait for another in the database:
 * whoever waits there holds one of the few connections, without which the requests of all others wait.
 */
export class CompanyTurns {
  readonly #limits: TurnLimits;
  readonly #owners = new Map<string, Turns>();

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Works when it is its turn. @throws rate_limited if too many are waiting, or its turn does not come in time */
  async take<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const turns = this.#owners.get(owner) ?? { working: 0, waiting: new Set() };
    this.#owners.set(owner, turns);
    if (turns.working < this.#limits.at_once) turns.working += 1;
    // Whoever is done hands over the place.
    else await this.#wait(turns);
    try {
      return await work();
    } finally {
      const [next] = turns.waiting;
      if (next === undefined) turns.working -= 1;
      else {
        turns.waiting.delete(next);
        next();
      }
      if (turns.working === 0) this.#owners.delete(owner);
    }
  }

  async #wait({ waiting }: Turns): Promise<void> {
    const { waiting: most = Infinity, wait_ms } = this.#limits;
    const refusal = rateLimited('too many requests at once', RETRY_SEC);
    if (waiting.size >= most) throw refusal;
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(late);
        resolve();
      };
      const late = setTimeout(() => {
        waiting.delete(begin);
        reject(refusal);
      }, wait_ms);
      waiting.add(begin);
    });
  }
}
