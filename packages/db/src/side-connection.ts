import type { Database } from './pool.ts';
import { stateOf } from './transaction-state.ts';
import type { Tx } from './tx.ts';

/**
 * A separate connection for a short statement that commits on its own while `tx` is open, so that no one has to wait for
 * `tx` to end. It is not taken from the pool: all of the pool's connections may be held by transactions that need it.
 * Undefined outside of a transaction.
 */
export function sideConnectionOf(tx: Tx): Database | undefined {
  return stateOf(tx)?.database.sideConnection();
}
