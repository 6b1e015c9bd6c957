import type { Tx } from './tx.ts';

/**
 * What other processes can be told (NOTIFY `service_<channel>`), with ids only, never with content:
 * `events` the outbox has rows (item ''), `jobs` a queue's name, `transcripts` JSON, `credentials` a key's id,
 * `commands` a command's id, `control` a run's id, `alerts` the company of a new notification ('' for none), `tools`
 * the company whose outside tools have changed, `plugins` a plugin's id, `channels` one that has something to say, `instance` that flags or the license changed,
 * `egress` the company whose list of hosts has changed, `tasks` that a task waits for remote workers, `due` that something changed without an event and may be due (items '').
 */
export const signalChannels = [
  'events',
  'jobs',
  'transcripts',
  'credentials',
  'commands',
  'control',
  'alerts',
  'tools',
  'plugins',
  'channels',
  'instance',
  'tasks',
  'due',
  'egress',
] as const;
export type SignalChannel = (typeof signalChannels)[number];

/** The item that stands for all others when there were too many of them: "read everything again". */
export const WILDCARD = '*';

export type Signals = Map<SignalChannel, Set<string>>;

// By session and not by transaction object: a savepoint's object is another one on the same session.
const collected = new WeakMap<object, Signals>();

function sessionOf(tx: Tx): object {
  return tx._.session;
}

/** Told to the others once `tx` has committed; forgotten when it rolls back. Throws outside a transaction. */
export function signal(tx: Tx, channel: SignalChannel, item: string): void {
  const signals = collected.get(sessionOf(tx));
  if (signals === undefined) throw new Error(`signal('${channel}') outside of a transaction`);
  const items = signals.get(channel);
  if (items === undefined) signals.set(channel, new Set([item]));
  else items.add(item);
}

export function collectSignals(tx: Tx): Signals {
  const signals: Signals = new Map();
  collected.set(sessionOf(tx), signals);
  return signals;
}

/** After the end of the transaction, so that a late `signal` throws instead of being lost. */
export function stopCollecting(tx: Tx): void {
  collected.delete(sessionOf(tx));
}

export function snapshotSignals(tx: Tx): Signals {
  const copy: Signals = new Map();
  for (const [channel, items] of collected.get(sessionOf(tx)) ?? []) copy.set(channel, new Set(items));
  return copy;
}

export function restoreSignals(tx: Tx, snapshot: Signals): void {
  const signals = collected.get(sessionOf(tx));
  if (signals === undefined) return;
  signals.clear();
  for (const [channel, items] of snapshot) signals.set(channel, items);
}
