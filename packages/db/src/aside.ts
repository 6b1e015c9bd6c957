import type { Database } from './pool.ts';
import { stateOf } from './transaction-state.ts';
import type { Tx } from './tx.ts';

/**
 * A connection beside that of `tx`, for a short statement that is committed by itself: what waits for others, or makes
 * others wait, until `tx` has ended. Not one of the pool's, all of which may be in the hands of transactions that need it.
 * Undefined outside of a transaction.
 */
export function asideOf(tx: Tx): Database | undefined {
  return stateOf(tx)?.database.aside();
}
