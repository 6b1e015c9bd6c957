import type { SQL } from 'drizzle-orm';
import type { Statement } from './batch.ts';
import type { Database } from './pool.ts';
import type { Signals } from './signal-channels.ts';
import type { Tx } from './tx.ts';

/** Makes one statement of all that a transaction has gathered for it. */
export type LastStatement<T> = (items: readonly T[]) => SQL | Promise<Statement>;

/** What an open transaction carries beside its connection. */
export interface TransactionState {
  database: Database;
  /** Told once it has committed. */
  signals: Signals;
  /** Written with the commit, in the order in which they were first asked for. */
  last: Map<LastStatement<never>, unknown[]>;
}

// By session and not by transaction object: a savepoint's object is another one on the same session.
const states = new WeakMap<object, TransactionState>();

export function openState(tx: Tx, database: Database): TransactionState {
  const state: TransactionState = { database, signals: new Map(), last: new Map() };
  states.set(tx._.session, state);
  return state;
}

/** Undefined outside of a transaction. */
export function stateOf(tx: Tx): TransactionState | undefined {
  return states.get(tx._.session);
}

/** After the end of the transaction, so that what comes late fails instead of being lost. */
export function closeState(tx: Tx): void {
  states.delete(tx._.session);
}

/** What a part of the transaction that fails alone has asked for is forgotten with it. @returns what puts it back */
export function snapshotState(tx: Tx): () => void {
  const state = stateOf(tx);
  if (state === undefined) return () => undefined;
  const signals = [...state.signals].map(([channel, items]) => [channel, new Set(items)] as const);
  const lengths = new Map([...state.last].map(([write, items]) => [write, items.length]));
  return () => {
    state.signals.clear();
    for (const [channel, items] of signals) state.signals.set(channel, items);
    for (const [write, items] of state.last) {
      const length = lengths.get(write);
      if (length === undefined) state.last.delete(write);
      else items.length = length;
    }
  };
}
