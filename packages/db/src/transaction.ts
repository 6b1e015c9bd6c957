import { type SQL, sql } from 'drizzle-orm';
import { type NodePgClient, NodePgSession, NodePgTransaction } from 'drizzle-orm/node-postgres';
import { PgDialect } from 'drizzle-orm/pg-core';
import { isTracing, traced } from '@acp/kernel';
import { asServiceError, isConnectionError } from './errors.ts';
import { commitStatements } from './commit-statements.ts';
import type { Database } from './pool.ts';
import { isSilence } from './silence.ts';
import { TransactionClient } from './transaction-client.ts';
import { closeState, openState, snapshotState, stateOf } from './transaction-state.ts';
import type { Tx } from './tx.ts';

const dialect = new PgDialect();
const SPAN = { attributes: Object.freeze({ 'db.system.name': 'postgresql' }) };

interface TransactionOptions {
  /**
   * False: the commit does not wait for the disk. It is visible immediately, but lost if the database crashes within the next
   * second. For data that is worthless after a crash.
   */
  durable?: boolean;
}

/**
 * Runs `fn` in one READ COMMITTED transaction and passes its signals to `database.notifier` strictly after COMMIT.
 * BEGIN is sent with the first statement, and the final statements (`writeAtCommit`) with COMMIT. Nothing but connecting is
 * retried. Throws ServiceError `unavailable` when the database can't be reached; if that happens during COMMIT, the
 * outcome is unknown.
 */
export async function transaction<T>(
  database: Database,
  fn: (tx: Tx) => Promise<T>,
  { durable = true }: TransactionOptions = {},
): Promise<T> {
  return isTracing()
    ? traced('transaction', SPAN, async () => run(database, fn, durable))
    : run(database, fn, durable);
}

async function run<T>(database: Database, fn: (tx: Tx) => Promise<T>, durable: boolean): Promise<T> {
  const client = new TransactionClient(database, durable);
  const session = new NodePgSession(client as unknown as NodePgClient, dialect, undefined);
  const tx: Tx = new NodePgTransaction(dialect, session, undefined);
  const state = openState(tx, database, () => client.allowSilence());
  let result: T;
  try {
    result = await fn(tx);
    await client.commit(await commitStatements(state));
    client.release();
  } catch (err) {
    const reason = client.reasonFor(err);
    await client.rollBack(reason);
    throw asServiceError(reason) ?? reason;
  } finally {
    closeState(tx);
  }
  for (const [channel, items] of state.signals) database.notifier?.push(channel, [...items]);
  return result;
}

/** A part of a transaction that may fail by itself: its statements and signals are undone and the error is rethrown. */
export async function savepoint<T>(tx: Tx, fn: (inner: Tx) => Promise<T>): Promise<T> {
  const putBack = snapshotState(tx);
  try {
    return await tx.transaction(async (inner) => fn(inner));
  } catch (err) {
    putBack();
    throw err;
  }
}

/**
 * A single write that commits by itself, at a third of a transaction's round trips. If the connection breaks it is sent again,
 * because its outcome is unknown, so the statement must be idempotent. Not if the server fell silent: the caller has waited enough.
 */
export async function loneWrite(database: Database, statement: SQL): Promise<Record<string, unknown>[]> {
  try {
    return (await database.db.execute(statement)).rows;
  } catch (err) {
    if (isSilence(err) || !isConnectionError(err)) throw asServiceError(err) ?? err;
    return transaction(database, async (tx) => (await tx.execute(statement)).rows);
  }
}

/** For the rest of the transaction, a statement may take as long as it needs: an hour's work that no one waits for. */
export async function takeTime(tx: Tx): Promise<void> {
  await tx.execute(sql`set local statement_timeout = 0`);
  stateOf(tx)?.allowSilence();
}

/** The database's clock, the only one that leases and deadlines are compared with. */
export async function databaseNow(tx: Tx): Promise<Date> {
  const { rows } = await tx.execute<{ now: string }>(sql`select now() as now`);
  return new Date(String(rows[0]?.now));
}
