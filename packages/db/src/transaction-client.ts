import { setTimeout as delay } from 'node:timers/promises';
import type { PoolClient, Query, QueryResult } from 'pg';
import { Batch, type Statement } from './batch.ts';
import { isConnectionError, isStalePlan } from './errors.ts';
import { RETRY_EVERY_MS } from './patient-pool.ts';
import type { Database } from './pool.ts';
import { allowSilence, endSilence, isSilence } from './silence.ts';

const COMMIT: Statement = { text: 'commit' };
const NOT_DURABLE: Statement = { text: 'set local synchronous_commit to off', setting: true };

/**
 * The connection of one transaction, as drizzle sees it. It is taken from the pool at the first statement, and the opening
 * of the transaction is sent along with it; a transaction without statements costs nothing.
 */
export class TransactionClient {
  readonly #database: Database;
  readonly #opening: readonly Statement[];
  #client: PoolClient | undefined;
  #beginning: Promise<QueryResult> | undefined;
  #patient = false;

  constructor(database: Database, durable: boolean) {
    this.#database = database;
    this.#opening = durable ? database.opening : [...database.opening, NOT_DURABLE];
  }

  /** Called by drizzle. */
  async query(statement: Statement, values: readonly unknown[]): Promise<QueryResult> {
    if (this.#client === undefined) {
      if (this.#beginning === undefined) {
        this.#beginning = this.#begin({ ...statement, values });
        return this.#beginning;
      }
      await this.#beginning;
    }
    return this.#client!.query(statement as { text: string }, values as unknown[]);
  }

  /** Sends `last` together with the commit. */
  async commit(last: readonly Statement[]): Promise<void> {
    if (this.#client === undefined) {
      if (last.length === 0) return;
      await this.#begin();
    }
    const parts = [...last, COMMIT];
    const { command } = await sent(this.#client!, new Batch(parts, parts.length - 1));
    // When a caller swallowed a statement's error, the failed transaction answers COMMIT with ROLLBACK.
    if (command === 'ROLLBACK') throw new Error('the transaction failed before its commit');
  }

  /** Called after the first statement. */
  allowSilence(): void {
    if (this.#client === undefined) return;
    this.#patient = true;
    allowSilence(this.#client);
  }

  /** Rolls back and releases the connection, or discards it if it is broken. */
  async rollBack(cause: unknown): Promise<void> {
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
    if (this.#client !== undefined && this.#patient) endSilence(this.#client);
    this.#client?.release();
    this.#client = undefined;
  }

  async #begin(first?: Statement): Promise<QueryResult> {
    const { pool, patience_ms } = this.#database;
    const giveUpAt = performance.now() + patience_ms;
    const parts = first === undefined ? this.#opening : [...this.#opening, first];
    // Idle connections may have died unnoticed, and before the first answer any other will do. A pooler accepts connections
    // while its server is down; then only waiting helps.
    for (let dead = this.#database.poolStats().max; ; dead -= 1) {
      const client = await pool.connect();
      const batch = new Batch(parts, parts.length - 1);
      try {
        const result = await sent(client, batch);
        this.#client = client;
        return result;
      } catch (err) {
        // Of a transaction that has only been opened, nothing is lost: another connection plans its first statement anew.
        const only_opened = first !== undefined && batch.done === this.#opening.length;
        if (batch.done > 0 && !(only_opened && isStalePlan(err))) {
          this.#client = client;
          throw err;
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

async function sent(client: PoolClient, batch: Batch): Promise<QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<QueryResult>();
  batch.callback = (err, result) => (err ? reject(err) : resolve(result));
  client.query(batch as unknown as Query);
  return promise;
}

function asError(err: unknown): Error {
  return err instanceof Error ? err : new Error(String(err));
}
