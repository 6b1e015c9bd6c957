import { rateLimited } from '@acp/kernel';
import { QUEUE_MS } from './tier-connections.ts';

const RETRY_SEC = 5;

/** Connections that no owner's changes take, however many owners there are. */
const LEFT_TO_READS = 2;
/** Of all, those that one owner's changes leave to the changes of others: none of a few, with which there are hardly any others. */
const LEFT_TO_OTHERS = 1 / 10;

interface QueueLimits {
  at_once: number;
  /** How many may wait here, each with its request in memory. Default: any number. */
  waiting?: number;
  /** And for how long. */
  wait_ms: number;
}

/** Limits of one owner. */
interface TurnLimits extends QueueLimits {
  /** Of all owners together. Default: any number. */
  all_at_once?: number;
}

/**
 * Limits what this process does for one owner, usually a company, at the same time, where one may wait for another in the database:
 * whoever waits there holds one of the few connections, without which the requests of all others wait. What all owners do is limited,
 * too, and taken up in its order: several may be in one hand.
 */
export class CompanyTurns {
  readonly #limits: TurnLimits;
  readonly #owners = new Map<string, Queue>();
  readonly #all: Queue;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
    this.#all = new Queue({ at_once: limits.all_at_once ?? Infinity, wait_ms: limits.wait_ms });
  }

  /** Works when it is its turn, and is told whether it had to wait for it. @throws rate_limited if too many are waiting, or its turn does not come in time */
  async take<T>(owner: string, work: (waited: boolean) => Promise<T>): Promise<T> {
    const own = this.#owners.get(owner) ?? new Queue(this.#limits);
    this.#owners.set(owner, own);
    try {
      return await own.take(async (waited) => this.#all.take(async (also) => work(waited || also)));
    } finally {
      if (own.idle) this.#owners.delete(owner);
    }
  }
}

/** For changes in so many connections of this process. */
export function turnsOfChanges(connections: number): CompanyTurns {
  const changes = Math.max(1, connections - LEFT_TO_READS);
  const at_once = Math.max(1, changes - Math.floor(LEFT_TO_OTHERS * connections));
  return new CompanyTurns({ at_once, all_at_once: changes, wait_ms: QUEUE_MS });
}

class Queue {
  readonly #limits: QueueLimits;
  #working = 0;
  /** Oldest first. */
  readonly #waiting = new Set<() => void>();

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  get idle(): boolean {
    return this.#working === 0;
  }

  async take<T>(work: (waited: boolean) => Promise<T>): Promise<T> {
    const waits = this.#working >= this.#limits.at_once;
    // Whoever is done hands over the place.
    if (waits) await this.#wait();
    else this.#working += 1;
    try {
      return await work(waits);
    } finally {
      const [next] = this.#waiting;
      if (next === undefined) this.#working -= 1;
      else {
        this.#waiting.delete(next);
        next();
      }
    }
  }

  async #wait(): Promise<void> {
    const { waiting: most = Infinity, wait_ms } = this.#limits;
    const refusal = rateLimited('too many requests at once', RETRY_SEC);
    if (this.#waiting.size >= most) throw refusal;
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(late);
        resolve();
      };
      const late = setTimeout(() => {
        this.#waiting.delete(begin);
        reject(refusal);
      }, wait_ms);
      this.#waiting.add(begin);
    });
  }
}
