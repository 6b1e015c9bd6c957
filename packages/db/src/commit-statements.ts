import { PgDialect } from 'drizzle-orm/pg-core';
import type { Statement } from './batch.ts';
import { type CommitStatement, stateOf, type TransactionState } from './transaction-state.ts';
import type { Tx } from './tx.ts';

const dialect = new PgDialect();

/**
 * Writes `items` at the end of the transaction: everything queued under the same `write` becomes one statement, sent along
 * with the commit. For rows that the transaction itself does not read. An error there fails the transaction.
 * Throws outside of one.
 */
export function writeAtCommit<T>(tx: Tx, write: CommitStatement<T>, items: readonly T[]): void {
  const last = stateOf(tx)?.last;
  if (last === undefined) throw new Error('writeAtCommit() outside of a transaction');
  const known = last.get(write);
  if (known === undefined) last.set(write, [...items]);
  else known.push(...items);
}

/** The statements, in the order in which they were first requested. */
export async function commitStatements({ last }: TransactionState): Promise<Statement[]> {
  return Promise.all([...last].map(async ([write, items]) => statementOf(write, items)));
}

async function statementOf(write: CommitStatement<never>, items: readonly unknown[]): Promise<Statement> {
  const made = await write(items as readonly never[]);
  if ('text' in made) return made;
  const { sql, params } = dialect.sqlToQuery(made);
  return { text: sql, values: params };
}
