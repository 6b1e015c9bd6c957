/**
 * What waits for the fleet, as this process knows it: a worker that asks in vain costs no statement. Read when a task is
 * signalled, after a claim that came away empty, and now and then, because a signal may get lost.
 */
import type { WorkerActor } from '@acp/contract';
import { mayTake, queuedRoutes, type QueuedRoute } from '@acp/core';
import type { Database, Listener } from '@acp/db';
import type { Logger } from '@acp/kernel';

const BACKSTOP_MS = 5000;
/** Least time between two looks, so that a busy queue costs ten statements a second and not one a claim. */
const REST_MS = 100;
/** Routes that one claim tries. */
const MOST_TRIED = 16;

export class QueuedTasks {
  readonly #database: Database;
  readonly #logger?: Logger | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #off: (() => void)[];
  #routes: QueuedRoute[] = [];
  #stale = true;
  #readAt = -Infinity;
  #reading: Promise<void> | null = null;

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

  /** Routes of which the worker may take tasks, in the order to try them. */
  async routesFor(worker: WorkerActor, narrowed?: readonly string[]): Promise<string[]> {
    await this.#refresh();
    const fitting: string[] = [];
    for (const queued of this.#routes) {
      if (fitting.length === MOST_TRIED) break;
      if (mayTake(worker, queued, narrowed)) fitting.push(queued.route);
    }
    return fitting;
  }

  /** A task of this company was claimed here: until the next look, others come first. */
  claimed(company_id: string): void {
    for (const queued of this.#routes) if (queued.company_id === company_id) queued.claimed += 1;
    this.#routes.sort((one, other) => one.claimed - other.claimed);
  }

  /** There was less than was known. */
  outdated(): void {
    this.#stale = true;
  }

  close(): void {
    clearInterval(this.#timer);
    for (const off of this.#off) off();
  }

  async #refresh(): Promise<void> {
    if (!this.#stale) return;
    if (performance.now() - this.#readAt < REST_MS) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    // What is signalled from here on may be missing in what is being read.
    this.#stale = false;
    try {
      this.#routes = await queuedRoutes(this.#database.db);
    } catch (error) {
      this.#stale = true;
      this.#logger?.warn('the queue of remote tasks could not be read, and is read again', { error });
      throw error;
    } finally {
      this.#readAt = performance.now();
    }
  }
}
