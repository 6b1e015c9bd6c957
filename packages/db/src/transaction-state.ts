import type { SQL } from 'drizzle-orm';
import type { Statement } from './batch.ts';
import type { Database } from './pool.ts';
import type { Signals } from './signal-channels.ts';
import type { Tx } from './tx.ts';

/** Builds one statement from everything that a transaction has queued for it. */
export type CommitStatement<T> = (items: readonly T[]) => SQL | Promise<Statement>;

/** What an open transaction carries besides its connection. */
export interface TransactionState {
  database: Database;
  /** Its connection, once there is one, may wait for a statement as long as that takes. */
  allowSilence: () => void;
  /** Sent after the commit. */
  signals: Signals;
  /** Written with the commit, in the order of first request. */
  last: Map<CommitStatement<never>, unknown[]>;
}

// Keyed by session rather than by transaction object: a savepoint has its own object on the same session.
const states = new WeakMap<object, TransactionState>();

export function openState(tx: Tx, database: Database, allowSilence: () => void): TransactionState {
  const state: TransactionState = { database, allowSilence, signals: new Map(), last: new Map() };
  states.set(tx._.session, state);
  return state;
}

/** Undefined outside of a transaction. */
export function stateOf(tx: Tx): TransactionState | undefined {
  return states.get(tx._.session);
}

/** Called when the transaction has ended, so that late additions fail instead of getting lost. */
export function closeState(tx: Tx): void {
  states.delete(tx._.session);
}

/** Saves the state before a savepoint. @returns a function that restores it */
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
