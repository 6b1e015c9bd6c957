import { type SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Statement } from './batch.ts';
import type { Tx } from './tx.ts';

/** Makes one statement of all that a transaction has gathered for it. */
export type LastStatement<T> = (items: readonly T[]) => SQL | Promise<Statement>;

type Gathered = Map<LastStatement<never>, unknown[]>;

const dialect = new PgDialect();

// By session and not by transaction object: a savepoint's object is another one on the same session.
const ofSessions = new WeakMap<object, Gathered>();

/**
 * Has `items` written at the end of the transaction, by one statement for all that it gathers under `write`, which goes out
 * with the commit: for rows that nothing in the transaction reads. What fails there fails the transaction. Throws outside
 * of one.
 */
export function lastly<T>(tx: Tx, write: LastStatement<T>, items: readonly T[]): void {
  const gathered = ofSessions.get(tx._.session);
  if (gathered === undefined) throw new Error('lastly() outside of a transaction');
  const known = gathered.get(write);
  if (known === undefined) gathered.set(write, [...items]);
  else known.push(...items);
}

export function gatherLast(tx: Tx): void {
  ofSessions.set(tx._.session, new Map());
}

/** The statements, in the order in which they were first asked for. */
export async function lastStatements(tx: Tx): Promise<Statement[]> {
  const gathered = ofSessions.get(tx._.session);
  return Promise.all([...(gathered ?? [])].map(async ([write, items]) => statementOf(write, items)));
}

/** After the end of the transaction, so that `lastly` throws instead of losing what comes late. */
export function stopGathering(tx: Tx): void {
  ofSessions.delete(tx._.session);
}

async function statementOf(write: LastStatement<never>, items: readonly unknown[]): Promise<Statement> {
  const made = await write(items as readonly never[]);
  if ('text' in made) return made;
  const { sql, params } = dialect.sqlToQuery(made);
  return { text: sql, values: params };
}

/** What a part of the transaction that fails alone has asked for is forgotten with it. @returns what puts it back */
export function snapshotLast(tx: Tx): () => void {
  const gathered = ofSessions.get(tx._.session);
  const before = new Map([...(gathered ?? [])].map(([write, items]) => [write, items.length]));
  return () => {
    for (const [write, items] of gathered ?? []) {
      const length = before.get(write);
      if (length === undefined) gathered?.delete(write);
      else items.length = length;
    }
  };
}
