import { type SQL, sql } from 'drizzle-orm';
import { NodePgSession, NodePgTransaction } from 'drizzle-orm/node-postgres';
import { PgDialect } from 'drizzle-orm/pg-core';
import { isTracing, traced } from '@acp/kernel';
import type { PoolClient } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { asServiceError, isConnectionError } from './errors.ts';
import { RETRY_EVERY_MS } from './patient-pool.ts';
import type { Database } from './pool.ts';
import { collectSignals, restoreSignals, snapshotSignals, stopCollecting } from './signals.ts';
import type { Tx } from './tx.ts';

const dialect = new PgDialect();

export interface TransactionOptions {
  /**
   * False: the commit does not wait for the disk. It is seen by all at once, and lost where the database crashes within the
   * next second: for what is of no worth after a crash.
   */
  durable?: boolean;
}

const NOT_DURABLE = 'set local synchronous_commit to off';

/**
 * Runs `fn` in one READ COMMITTED transaction and tells its signals to `database.notifier` strictly after COMMIT.
 * Nothing is retried but the connecting. Throws ServiceError `unavailable` when the database can't be reached; when
 * that happens at COMMIT, whether it took effect is unknown.
 */
export async function transaction<T>(
  database: Database,
  fn: (tx: Tx) => Promise<T>,
  { durable = true }: TransactionOptions = {},
): Promise<T> {
  return isTracing()
    ? traced('transaction', { attributes: { 'db.system.name': 'postgresql' } }, async () =>
        run(database, fn, durable),
      )
    : run(database, fn, durable);
}

async function run<T>(database: Database, fn: (tx: Tx) => Promise<T>, durable: boolean): Promise<T> {
  try {
    const client = await begin(database, durable ? database.begin : `${database.begin};${NOT_DURABLE}`);
    let broken: Error | undefined;
    const tx: Tx = new NodePgTransaction(dialect, new NodePgSession(client, dialect, undefined), undefined);
    const signals = collectSignals(tx);
    let result: T;
    try {
      result = await fn(tx);
      await commit(client);
    } catch (err) {
      broken = await rollBack(client, err);
      throw err;
    } finally {
      stopCollecting(tx);
      client.release(broken);
    }
    for (const [channel, items] of signals) database.notifier?.push(channel, [...items]);
    return result;
  } catch (err) {
    throw asServiceError(err) ?? err;
  }
}

async function begin(database: Database, text: string): Promise<PoolClient> {
  const giveUpAt = performance.now() + database.patience_ms;
  // Idle connections may have died unnoticed; before the first statement another one is as good. A pooler takes connections
  // while its server is away: only time helps then.
  for (let dead = database.poolStats().max; ; dead -= 1) {
    const client = await database.pool.connect();
    try {
      await client.query(text);
      return client;
    } catch (err) {
      client.release(err instanceof Error ? err : true);
      if (!isConnectionError(err) || (dead <= 0 && performance.now() + RETRY_EVERY_MS > giveUpAt)) throw err;
    }
    if (dead <= 0) await delay(RETRY_EVERY_MS);
  }
}

async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('commit');
  // A transaction whose failed statement was swallowed by its caller answers COMMIT with ROLLBACK.
  if (command === 'ROLLBACK') throw new Error('the transaction had failed before its commit');
}

/** Gives back the error that makes the connection unusable, if any. */
async function rollBack(client: PoolClient, cause: unknown): Promise<Error | undefined> {
  if (isConnectionError(cause)) return cause instanceof Error ? cause : new Error('connection lost');
  try {
    await client.query('rollback');
    return undefined;
  } catch (err) {
    return err instanceof Error ? err : new Error(String(err));
  }
}

/** Part of a transaction that may fail alone: its statements and signals are undone and the error is rethrown. */
export async function savepoint<T>(tx: Tx, fn: (inner: Tx) => Promise<T>): Promise<T> {
  const before = snapshotSignals(tx);
  try {
    return await tx.transaction(async (inner) => fn(inner));
  } catch (err) {
    restoreSignals(tx, before);
    throw err;
  }
}

/**
 * One statement that writes, committed by itself: a third of a transaction's messages. Where the connection breaks it is sent
 * again, for nobody knows whether it took effect: it has to be one that does no more the second time.
 */
export async function loneWrite(database: Database, statement: SQL): Promise<void> {
  try {
    await database.db.execute(statement);
  } catch (err) {
    if (!isConnectionError(err)) throw asServiceError(err) ?? err;
    await transaction(database, async (tx) => tx.execute(statement));
  }
}

/** The database's clock: the only one that leases and deadlines are compared with. */
export async function databaseNow(tx: Tx): Promise<Date> {
  const { rows } = await tx.execute<{ now: string }>(sql`select now() as now`);
  return new Date(String(rows[0]?.now));
}
