import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@acp/kernel';
import { openLink, PING_EVERY_MS } from './link.ts';
import type { Link } from './link.ts';
import { payloadsOf, PendingSignals } from './pending-signals.ts';
import type { SignalChannel } from './signal-channels.ts';

interface NotifierOptions {
  /** The direct address. */
  url: string;
  logger?: Logger | undefined;
  application_name?: string;
  /** Minimum time between two statements, in milliseconds; what arrives in between is sent together. */
  minIntervalMs?: number;
  /**
   * How often the outbox is checked without a signal, in milliseconds; 0: never. This finds events of processes that died
   * after their commit. One such process per instance is enough, so the web tier may poll rarely.
   */
  poll_ms?: number;
}

/** Notifies other processes after commit, on its own connection: NOTIFY inside a transaction serialises all commits. */
export interface Notifier {
  push(channel: SignalChannel, items: readonly string[]): void;
  /** Resolves once everything committed before the call has its sequence number; rejects when that failed. */
  sequenceNow(): Promise<void>;
  /** Sends what is still pending (for at most 2 s) and closes the connection. */
  close(): Promise<void>;
}

const BATCH = 1000;
const RETRY_MS = 250;
// When events arrive fast, larger batches save more than their delay costs.
const BUSY_FACTOR = 3;
const CLOSE_TIMEOUT_MS = 2000;

type SignalItems = Map<SignalChannel, string[]>;

class OutboxNotifier implements Notifier {
  readonly #logger: Logger | undefined;
  readonly #link: Link;
  readonly #minIntervalMs: number;
  readonly #poll: NodeJS.Timeout | undefined;
  readonly #pending = new PendingSignals();
  /** The outbox may have rows: one bit, however many events there are. */
  #outbox = false;
  #waiters: PromiseWithResolvers<void>[] = [];
  #running: Promise<void> | null = null;
  #sequencedAt = 0;
  #restMs: number;
  #failing = false;
  #closed = false;

  constructor(options: NotifierOptions) {
    this.#logger = options.logger;
    this.#minIntervalMs = options.minIntervalMs ?? 4;
    this.#restMs = this.#minIntervalMs;
    const { url, logger, application_name = 'notifier', poll_ms: pollMs = 1000 } = options;
    const pings = pollMs <= 0 || pollMs > PING_EVERY_MS;
    this.#link = openLink({ url, application_name, logger, pings });
    if (pollMs > 0) this.#poll = setInterval(() => this.#lookAgain(pollMs), pollMs).unref();
  }

  push(channel: SignalChannel, items: readonly string[]): void {
    if (this.#closed) return;
    if (channel === 'events') this.#outbox = true;
    else this.#pending.add(channel, items);
    this.#wake();
  }

  async sequenceNow(): Promise<void> {
    if (this.#closed) throw new Error('the notifier is closed');
    const waiter = Promise.withResolvers<void>();
    this.#waiters.push(waiter);
    this.#outbox = true;
    this.#wake();
    return waiter.promise;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#poll);
    const done = new AbortController();
    const tooLong = delay(CLOSE_TIMEOUT_MS, undefined, { signal: done.signal }).catch(() => undefined);
    await Promise.race([this.#running, tooLong]);
    done.abort();
    await this.#link.close();
    for (const { reject } of this.#waiters) reject(new Error('the notifier is closed'));
  }

  #lookAgain(pollMs: number): void {
    if (performance.now() - this.#sequencedAt < pollMs / 2) return;
    this.#outbox = true;
    this.#wake();
  }

  #wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  async #run(): Promise<void> {
    while (this.#outbox || !this.#pending.empty) {
      const startedAt = performance.now();
      // Whatever is pushed while waiting for the connection, or in the same tick, is sent along.
      const client = await this.#link.client().catch(() => null);
      if (client === null) return;
      await this.#flush(client);
      if (this.#failing && this.#closed) return;
      const rest = this.#failing ? RETRY_MS : this.#restMs - (performance.now() - startedAt);
      if (rest > 0) await delay(rest);
    }
  }

  async #flush(client: Sender): Promise<void> {
    const sequence = this.#outbox;
    const signals = this.#pending.take();
    const waiters = this.#waiters;
    this.#outbox = false;
    this.#waiters = [];
    try {
      const moved = await send(client, sequence, signals);
      if (sequence) this.#sequencedAt = performance.now();
      this.#restMs = this.#minIntervalMs * (moved > 1 ? BUSY_FACTOR : 1);
      this.#failing = false;
      if (moved < BATCH) {
        for (const { resolve } of waiters) resolve();
      } else {
        this.#outbox = true;
        this.#waiters.unshift(...waiters);
      }
    } catch (err) {
      // A duplicate notification is harmless, a lost one is not: everything goes back to the front of the queue.
      this.#outbox ||= sequence;
      const later = this.#pending.take();
      for (const [channel, items] of [...signals, ...later]) this.#pending.add(channel, items);
      for (const { reject } of waiters) reject(err);
      if (!this.#failing) {
        const error = err instanceof Error ? err.message : String(err);
        this.#logger?.warn('the notifier failed, and tries again', { error });
      }
      this.#failing = true;
    }
  }
}

export function createNotifier(options: NotifierOptions): Notifier {
  return new OutboxNotifier(options);
}

interface Sender {
  query(statement: {
    name: string;
    text: string;
    values: unknown[];
  }): Promise<{ rows: { moved?: number }[] }>;
}

const TELL_ALL =
  'count(pg_notify(channel, payload)) as signals from unnest($1::text[], $2::text[]) as n (channel, payload)';

// Named, so that a session parses each once.
const TELL = { name: 'tell', text: `select ${TELL_ALL}` };
const SEQUENCE = { name: 'sequence', text: 'select sequence_outbox($1) as moved' };
const BOTH = {
  name: 'sequence_and_tell',
  text: `select sequence_outbox($3) as moved, (select ${TELL_ALL})`,
};

/** One statement, hence one commit, for everything pending. Returns the number of outbox rows moved. */
async function send(client: Sender, sequence: boolean, signals: SignalItems): Promise<number> {
  const channels: string[] = [];
  const payloads: string[] = [];
  for (const [channel, items] of signals) {
    for (const payload of payloadsOf(items)) {
      channels.push(`service_${channel}`);
      payloads.push(payload);
    }
  }
  if (!sequence) {
    await client.query({ ...TELL, values: [channels, payloads] });
    return 0;
  }
  const { rows } =
    channels.length === 0
      ? await client.query({ ...SEQUENCE, values: [BATCH] })
      : await client.query({ ...BOTH, values: [channels, payloads, BATCH] });
  return rows[0]?.moved ?? 0;
}
