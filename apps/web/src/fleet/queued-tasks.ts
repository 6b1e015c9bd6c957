/**
 * This process's view of the tasks waiting for the fleet, and how many of them are promised to claims in progress: a worker
 * for which nothing is left costs no query. It is a hint that may be briefly wrong either way; it is read again when a task
 * is signalled, when counts turn out to be wrong, and periodically, because a signal may get lost.
 */
import type { WorkerActor } from '@acp/contract';
import { mayTake, queuedRoutes, type QueuedRoute } from '@acp/core';
import type { Database, Listener } from '@acp/db';
import type { Logger } from '@acp/kernel';

const BACKSTOP_MS = 5000;
/** Minimum time between two reads, so that a busy queue costs a few queries a second and not one per claim. */
const REST_MS = 25;
const MOST_WAITING = 50;
/** Tasks that can't be had (just taken by another process, called off) are read again after this delay. */
const DOUBT_MS = 200;

export class QueuedTasks {
  readonly #database: Database;
  readonly #logger?: Logger | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #off: (() => void)[];
  #routes: QueuedRoute[] = [];
  /** By company. */
  readonly #promised = new Map<string, number>();
  #stale = true;
  #readAt = -Infinity;
  #reading: Promise<void> | null = null;
  /** Number of claims waiting for a read. */
  #waiting = 0;
  #doubt: NodeJS.Timeout | null = null;

  constructor({
    database,
    logger,
    listener,
  }: {
    database: Database;
    logger?: Logger | undefined;
    listener?: Listener | undefined;
  }) {
    this.#database = database;
    this.#logger = logger;
    const outdated = () => {
      this.#stale = true;
    };
    this.#timer = setInterval(outdated, BACKSTOP_MS).unref();
    this.#off = [listener?.on('tasks', outdated), listener?.onReconnect(outdated)].filter(
      (off) => off !== undefined,
    );
  }

  /**
   * Promises one task of a route that the worker may take from: of the company with the fewest tasks in hand, then of the
   * longest-waiting route. Undefined if nothing is left.
   */
  async reserve(worker: WorkerActor, narrowed?: readonly string[]): Promise<QueuedRoute | undefined> {
    await this.#refresh();
    const chosen = this.#choose(worker, narrowed);
    // Other claims may have got the last of the counted tasks.
    if (chosen !== undefined || (!this.#stale && this.#reading === null)) return chosen;
    await this.#refresh();
    return this.#choose(worker, narrowed);
  }

  #choose(worker: WorkerActor, narrowed: readonly string[] | undefined): QueuedRoute | undefined {
    let chosen: QueuedRoute | undefined;
    for (const queued of this.#routes) {
      if (chosen !== undefined && this.#inHand(queued) >= this.#inHand(chosen)) continue;
      if (queued.waiting > 0 && mayTake(worker, queued, narrowed)) chosen = queued;
    }
    if (chosen === undefined) return undefined;
    this.#promise(chosen, 1);
    if (chosen.waiting === 0 && chosen.more) this.#stale = true;
    return chosen;
  }

  /** Returns the promise of a claim that failed for other reasons. */
  giveBack(route: QueuedRoute): void {
    this.#promise(route, -1);
  }

  /** Marks the route as empty for now. */
  exhausted({ route }: QueuedRoute): void {
    this.#routes = this.#routes.filter((queued) => queued.route !== route);
    this.#doubt ??= setTimeout(() => {
      this.#doubt = null;
      this.#stale = true;
    }, DOUBT_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    if (this.#doubt) clearTimeout(this.#doubt);
    for (const off of this.#off) off();
  }

  /**
   * Reads again if a change is known, so that a claim does not miss a task signalled before it. In a large fleet only some
   * claims wait for that: enough to take whatever is found.
   */
  async #refresh(): Promise<void> {
    if ((!this.#stale && this.#reading === null) || this.#waiting >= MOST_WAITING) return;
    this.#waiting += 1;
    try {
      if (this.#reading !== null) await this.#reading;
      // Signals that arrive during a read require another one.
      if (!this.#stale) return;
      this.#reading ??= this.#read().finally(() => {
        this.#reading = null;
      });
      await this.#reading;
    } finally {
      this.#waiting -= 1;
    }
  }

  #promise(queued: QueuedRoute, tasks: 1 | -1): void {
    queued.waiting -= tasks;
    this.#promised.set(queued.company_id, (this.#promised.get(queued.company_id) ?? 0) + tasks);
  }

  /** The number of tasks the route's company has, including those promised since the last read. */
  #inHand({ company_id, claimed }: QueuedRoute): number {
    return claimed + (this.#promised.get(company_id) ?? 0);
  }

  async #read(): Promise<void> {
    const rest = this.#readAt + REST_MS - performance.now();
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
    // Anything signalled from here on may be missing in this read.
    this.#stale = false;
    try {
      this.#routes = await queuedRoutes(this.#database.db);
      this.#promised.clear();
    } catch (error) {
      this.#stale = true;
      this.#logger?.warn('the queue of remote tasks could not be read; trying again', { error });
      throw error;
    } finally {
      this.#readAt = performance.now();
    }
  }
}
