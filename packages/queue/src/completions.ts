import { setTimeout as delay } from 'node:timers/promises';
import type { PgBoss } from 'pg-boss';
import type { CommitStatement } from '@acp/db';
import type { Logger } from '@acp/kernel';

/** Identifies the attempt: a completion that arrives after the job was reassigned changes nothing. */
export interface Attempt {
  id: string;
  retryCount: number;
}

const RETRY_MS = 500;
// Far more than ever runs at once; if the database is away for long, its jobs come back by expiring.
const MAX_WAITING = 20_000;

/** Completes a queue's finished jobs in batches: those that arrive during a statement go into the next one. */
export class Completions {
  readonly #boss: PgBoss;
  readonly #queue: string;
  readonly #logger: Logger | undefined;
  #waiting: Attempt[] = [];
  #running: Promise<void> | null = null;
  #closing = false;
  #failing = false;

  constructor(boss: PgBoss, queue: string, logger?: Logger) {
    this.#boss = boss;
    this.#queue = queue;
    this.#logger = logger;
  }

  add(attempt: Attempt): void {
    if (this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push(attempt);
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  /** Writes everything added so far; after this, a failure is not retried. */
  async flush(): Promise<void> {
    this.#closing = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        const response = await this.#boss.complete(this.#queue, batch);
        this.#failing = false;
        const affected = 'affected' in response ? Number(response.affected) : batch.length;
        if (affected < batch.length) {
          this.#logger?.info('jobs finished after they had expired', {
            queue: this.#queue,
            count: batch.length - affected,
          });
        }
      } catch (err) {
        const fields = { queue: this.#queue, error: messageOf(err) };
        if (!this.#failing) this.#logger?.warn('finished jobs could not be completed', fields);
        this.#failing = true;
        if (this.#closing) return;
        this.#waiting.unshift(...batch);
        await delay(RETRY_MS);
      }
    }
  }
}

/** pg-boss's statement that completes such attempts, for the end of a transaction. */
export function completionStatement(boss: PgBoss, queue: string): CommitStatement<Attempt> {
  return async (attempts) => {
    let statement: { text: string; values: unknown[] } | undefined;
    const executeSql = async (text: string, values: unknown[] = []) => {
      statement = { text, values };
      return { rows: [{ count: 0, ids: [] }] };
    };
    await boss.complete(queue, [...attempts], undefined, { db: { executeSql } });
    return statement!;
  };
}

export function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
