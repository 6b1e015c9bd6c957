import type { SignalChannel } from './signal-channels.ts';
import { stateOf } from './transaction-state.ts';
import type { Tx } from './tx.ts';

/** Queues a signal that is sent once `tx` has committed and dropped if it rolls back. Throws outside a transaction. */
export function signal(tx: Tx, channel: SignalChannel, item: string): void {
  const signals = stateOf(tx)?.signals;
  if (signals === undefined) throw new Error(`signal('${channel}') outside of a transaction`);
  const items = signals.get(channel);
  if (items === undefined) signals.set(channel, new Set([item]));
  else items.add(item);
}
