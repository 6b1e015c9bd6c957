import { setTimeout as delay } from 'node:timers/promises';
import type { PoolClient, Query, QueryResult } from 'pg';
import { Batch, type Statement } from './batch.ts';
import { isConnectionError, isSkipped, isStalePlan } from './errors.ts';
import { RETRY_EVERY_MS } from './patient-pool.ts';
import type { Database } from './pool.ts';
import { allowSilence, endSilence, isSilence } from './silence.ts';

const COMMIT: Statement = { text: 'commit' };
const NOT_DURABLE: Statement = { text: 'set local synchronous_commit to off', setting: true };

interface Asked {
  statement: Statement;
  resolve: (result: QueryResult) => void;
  reject: (err: unknown) => void;
}

/**
 * The connection of one transaction, as drizzle sees it. It is taken from the pool at the first statement, and the opening
 * of the transaction is sent along with it; a transaction without statements costs nothing. Statements issued in the same tick
 * (`together`) travel as one message.
 */
export class TransactionClient {
  readonly #database: Database;
  readonly #opening: readonly Statement[];
  #client: PoolClient | undefined;
  #beginning: Promise<unknown> | undefined;
  #patient = false;
  /** From then on it takes no connection: nobody would give that back. */
  #over = false;
  /** Issued in this tick, and not sent yet. */
  #asked: Asked[] = [];
  /** The latest failure of a statement that PostgreSQL looked at. */
  #failure: unknown;

  constructor(database: Database, durable: boolean) {
    this.#database = database;
    this.#opening = durable ? database.opening : [...database.opening, NOT_DURABLE];
  }

  /** Called by drizzle. */
  async query(statement: Statement, values: readonly unknown[]): Promise<QueryResult> {
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult>();
    const refuse = (err: unknown): void => {
      if (!isSkipped(err)) this.#failure = err;
      reject(err);
    };
    this.#asked.push({ statement: { ...statement, values }, resolve, reject: refuse });
    // Runs after everything that is ready to be issued has been, too.
    if (this.#asked.length === 1) process.nextTick(() => void this.#sendAsked());
    return promise;
  }

  /** Sends the commit together with `last` and with what was issued in this tick, for which nothing has waited. */
  async commit(last: readonly Statement[]): Promise<void> {
    this.#over = true;
    const asked = this.#asked;
    this.#asked = [];
    await this.#beginning;
    if (this.#client === undefined && asked.length === 0) {
      if (last.length === 0) return;
      await this.#begin([]);
    }
    const closing = [...last, COMMIT];
    const { answers } =
      this.#client === undefined
        ? await this.#begin(asked, closing)
        : await this.#close(this.#client, asked, closing);
    const { command } = await answers.at(-1)!;
    // When a caller swallowed a statement's error, the failed transaction answers COMMIT with ROLLBACK.
    if (command === 'ROLLBACK') throw new Error('the transaction failed before its commit');
  }

  /** Why the transaction failed: a statement that was skipped says nothing of the one that failed before it. */
  reasonFor(err: unknown): unknown {
    return isSkipped(err) ? (this.#failure ?? err) : err;
  }

  /** Called after the first statement. */
  allowSilence(): void {
    if (this.#client === undefined) return;
    this.#patient = true;
    allowSilence(this.#client);
  }

  /** Rolls back and releases the connection, or discards it if it is broken. */
  async rollBack(cause: unknown): Promise<void> {
    this.#over = true;
    // A statement that no one waits for any more may have its connection only after this.
    await this.#beginning?.catch(() => undefined);
    const client = this.#client;
    if (client === undefined) return;
    this.#client = undefined;
    if (this.#patient) endSilence(client);
    if (isConnectionError(cause)) return client.release(asError(cause));
    try {
      await client.query('rollback');
      client.release();
    } catch (err) {
      client.release(asError(err));
    }
  }

  release(): void {
    this.#over = true;
    if (this.#client !== undefined && this.#patient) endSilence(this.#client);
    this.#client?.release();
    this.#client = undefined;
  }

  /** Never rejects: those who asked are told. */
  async #sendAsked(): Promise<void> {
    const asked = this.#asked;
    if (asked.length === 0) return;
    this.#asked = [];
    try {
      if (this.#beginning === undefined && !this.#over) {
        this.#beginning = this.#begin(asked);
        await this.#beginning;
        return;
      }
      await this.#beginning;
      const client = this.#client;
      if (client === undefined) throw new Error('the transaction is over');
      const [only] = asked;
      if (asked.length === 1) only!.resolve(await client.query(only!.statement as { text: string }));
      else {
        const batch = new Batch(asked.map(({ statement }) => statement));
        await sent(client, batch).catch(() => undefined);
        relay(asked, batch.answers);
      }
    } catch (err) {
      for (const { reject } of asked) reject(err);
    }
  }

  async #close(client: PoolClient, asked: readonly Asked[], closing: readonly Statement[]): Promise<Batch> {
    const batch = new Batch([...asked.map(({ statement }) => statement), ...closing]);
    try {
      await sent(client, batch);
      return batch;
    } finally {
      relay(asked, batch.answers);
    }
  }

  /** @param closing the whole transaction in one message: when its connection breaks, it may have been committed */
  async #begin(first: readonly Asked[], closing: readonly Statement[] = []): Promise<Batch> {
    const { pool, patience_ms } = this.#database;
    const giveUpAt = performance.now() + patience_ms;
    const opened = this.#opening.length;
    const parts = [...this.#opening, ...first.map(({ statement }) => statement), ...closing];
    const isWhole = closing.length > 0;
    // Idle connections may have died unnoticed, and before the first answer any other will do. A pooler accepts connections
    // while its server is down; then only waiting helps.
    for (let dead = this.#database.poolStats().max; ; dead -= 1) {
      const client = await pool.connect();
      const batch = new Batch(parts);
      try {
        await sent(client, batch);
        this.#client = client;
        relay(first, batch.answers.slice(opened));
        return batch;
      } catch (err) {
        // Of a transaction that has only been opened, nothing is lost: another connection plans its first statement anew.
        const only_opened = first.length > 0 && batch.done === opened;
        if ((batch.done > 0 || isWhole) && !(only_opened && isStalePlan(err))) {
          this.#client = client;
          if (batch.done >= opened || isWhole) relay(first, batch.answers.slice(opened));
          if (batch.done < opened || isWhole) throw err;
          return batch;
        }
        client.release(asError(err));
        if (
          isSilence(err) ||
          !isConnectionError(err) ||
          (dead <= 0 && performance.now() + RETRY_EVERY_MS > giveUpAt)
        )
          throw err;
      }
      if (dead <= 0) await delay(RETRY_EVERY_MS);
    }
  }
}

async function sent(client: PoolClient, batch: Batch): Promise<void> {
  client.query(batch as unknown as Query);
  await batch.finished;
}

function relay(asked: readonly Asked[], answers: readonly Promise<QueryResult>[]): void {
  for (const [place, { resolve, reject }] of asked.entries()) void answers[place]!.then(resolve, reject);
}

function asError(err: unknown): Error {
  return err instanceof Error ? err : new Error(String(err));
}
