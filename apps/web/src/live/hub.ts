/**
 * The live hub: one LISTEN per process, one read per notification, frames built once and written to every stream that may
 * see them. Events are ordered by the instance-wide sequence; a stream replays what it missed before it goes live.
 */
import { setImmediate } from 'node:timers/promises';
import { liveName, topicsOf } from '@acp/contract';
import {
  countEvents,
  replayFloor,
  lastSequence,
  listEventsAfter,
  parseRanges,
  type TranscriptEntry,
} from '@acp/core';
import { type Database, type Listener, WILDCARD } from '@acp/db';
import { type Logger, notFound, rateLimited } from '@acp/kernel';
import { accessOf, verifyAccess } from './access.ts';
import { Audience, audienceOf } from './audience.ts';
import {
  eventFrame,
  closingFrame,
  HEARTBEAT_FRAME,
  HELLO_FRAME,
  resetFrame,
  transcriptFrames,
} from './frames.ts';
import { Subscriber, type SubscriberOptions } from './subscriber.ts';
import { type StreamCounters, StreamMetrics } from './stream-metrics.ts';
import { TranscriptRelay } from './transcript-relay.ts';

interface HubOptions {
  database: Database;
  listener: Listener;
  logger: Logger;
  /** Bytes a reader may leave unread before it is dropped; also bounds all readers of the process together. */
  max_pending_bytes?: number;
  max_pending_bytes_total?: number;
  /** Maximum number of open streams per user or key in this process. Default 50. */
  max_streams_each?: number;
  /** How often each stream gets a comment. Default 15,000. */
  heartbeat_ms?: number;
}

// More tabs and scripts than anyone uses at the same time.
const MAX_STREAMS_EACH = 50;
const BROADCAST_PART = 250;
const RETRY_AFTER_SEC = 30;

const PAGE = 500;
const HEARTBEAT_MS = 15_000;
const VERIFY_MS = 60_000;
const COUNT_MS = 60_000;

export class LiveHub {
  readonly metrics = new StreamMetrics();
  readonly #options: HubOptions;
  readonly #subscribers = new Audience();
  readonly #timers: NodeJS.Timeout[];
  readonly #off: (() => void)[];
  /** Number of the newest event that was read or skipped. */
  #last = 0;
  /** Newest number announced by a notification; null: read it from the database. */
  #announced: number | null = 0;
  #reading = false;
  #verifying = Promise.resolve();
  /** Ranges of events skipped because no one listened: counted on request, or before retention removes them. */
  #unread: { after: number; up_to: number }[] = [];
  readonly #transcripts: TranscriptRelay;

  constructor(options: HubOptions) {
    this.#options = options;
    this.#transcripts = new TranscriptRelay({ ...options, onEntry: (entry) => this.#relay(entry) });
    const { listener } = options;
    this.#off = [
      listener.on('events', (items) => this.#announce(items)),
      listener.on('transcripts', (items) => this.#queueRanges(items)),
      listener.on('credentials', (items) => this.#credentialsChanged(items)),
      listener.on('departures', (items) => this.#keysEnded(items)),
      listener.onReconnect(() => this.#readUpTo(null)),
    ];
    this.#timers = [
      setInterval(() => void this.#beat(), options.heartbeat_ms ?? HEARTBEAT_MS).unref(),
      setInterval(() => void this.#verify([...this.#subscribers.all()]), VERIFY_MS).unref(),
      setInterval(() => void this.#countInTime(), COUNT_MS).unref(),
    ];
  }

  /** Starts at the end of the sequence: earlier events are only replayed. */
  async start(): Promise<void> {
    this.#last = await lastSequence(this.#options.database.db);
  }

  get logger(): Logger {
    return this.#options.logger;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /**
   * Opens a stream; with `after` it first gets what it missed (10 minutes back at most, else a `reset`).
   * @throws notFound for a company that the actor may not see, rateLimited if the actor has too many open streams
   */
  async subscribe(options: SubscriberOptions, after: number | null): Promise<Subscriber> {
    const { db } = this.#options.database;
    const access = await accessOf(db, options.actor, options.only);
    if (!access) throw notFound();
    if (this.#subscribers.openOf(options.actor) >= (this.#options.max_streams_each ?? MAX_STREAMS_EACH))
      throw rateLimited('too many live streams are open', RETRY_AFTER_SEC);
    const subscriber = new Subscriber(options);
    Object.assign(subscriber, access);
    this.#subscribers.put(subscriber);
    options.sink.write(HELLO_FRAME);
    if (after === null) subscriber.goLive(this.#last);
    else await this.#replay(subscriber, after);
    return subscriber;
  }

  unsubscribe(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    subscriber.close();
  }

  /** The counters by company, including events published while no one listened. */
  async counters(): Promise<Record<string, StreamCounters>> {
    for (let [stretch] = this.#unread.splice(0, 1); stretch; [stretch] = this.#unread.splice(0, 1)) {
      try {
        for (const { company_id, type, count } of await countEvents(this.#options.database.db, stretch))
          if (liveName(type) !== null) this.metrics.published(company_id, 0, count);
      } catch (error) {
        this.#unread.unshift(stretch);
        throw error;
      }
    }
    return this.metrics.snapshot();
  }

  /** Has all clients reconnect after a moment, and unsubscribes from the channels. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const off of this.#off) off();
    for (const subscriber of this.#subscribers.all()) {
      subscriber.sendUnnumbered(closingFrame(Math.random()));
      this.unsubscribe(subscriber);
    }
  }

  async #replay(subscriber: Subscriber, after: number): Promise<void> {
    const { db } = this.#options.database;
    try {
      const { floor, last } = await replayFloor(db);
      let position = after;
      if (after < floor || after > last) {
        position = after > last ? last : floor;
        subscriber.sendUnnumbered(resetFrame(position));
      }
      // Reads pages up to the current newest event; events published in the meantime wait in the subscriber.
      for (let full = true; full && !subscriber.closed;) {
        const companies = [...subscriber.companies];
        const { instance_wide } = subscriber;
        const page = await listEventsAfter(db, position, { companies, instance_wide, limit: PAGE });
        for (const event of page) {
          const frame = eventFrame(event);
          const wanted = subscriber.sees(event) && subscriber.wants(topicsOf(event.type, event.data));
          if (frame !== null && wanted) subscriber.replay(event.seq, frame);
        }
        position = page.at(-1)?.seq ?? position;
        full = page.length === PAGE;
        this.#dropIfSlow(subscriber);
      }
      subscriber.goLive(position);
      subscriber.advance(this.#last);
    } catch (error) {
      this.unsubscribe(subscriber);
      throw error;
    }
  }

  #announce(items: readonly string[]): void {
    let newest = 0;
    for (const item of items) {
      if (item === WILDCARD) return this.#readUpTo(null);
      newest = Math.max(newest, Number(item.split('-')[1]));
    }
    if (!Number.isSafeInteger(newest) || newest <= this.#last) return undefined;
    // No readers: nothing to fetch, only the number is kept.
    if (this.#subscribers.size === 0 && !this.#reading) this.#skipTo(newest);
    else this.#readUpTo(newest);
  }

  #skipTo(newest: number): void {
    const latest = this.#unread.at(-1);
    if (latest?.up_to === this.#last) latest.up_to = newest;
    else this.#unread.push({ after: this.#last, up_to: newest });
    this.#last = newest;
  }

  /** @param newest null: notifications may have been missed, so whatever the database has */
  #readUpTo(newest: number | null): void {
    this.#announced =
      newest === null || this.#announced === null ? newest : Math.max(this.#announced, newest);
    if (!this.#reading) void this.#readAll();
  }

  async #readAll(): Promise<void> {
    const { database, logger } = this.#options;
    this.#reading = true;
    try {
      for (let more = true; more;) {
        const announced = this.#announced;
        const page = await listEventsAfter(database.db, this.#last, {
          companies: null,
          instance_wide: true,
          limit: PAGE,
        });
        for (const event of page) this.#publish(event);
        this.#last = page.at(-1)?.seq ?? this.#last;
        more = page.length === PAGE || this.#announced !== announced || this.#last < (announced ?? 0);
        // An announced event that is missing from the database was lost with a standby: wait for the next announcement.
        if (page.length === 0 && this.#announced === announced) more = false;
      }
      this.#announced = this.#last;
    } catch (error) {
      // The next heartbeat, notification or reconnect resumes at the same place.
      logger.warn('live events could not be read', { error });
    } finally {
      this.#reading = false;
    }
  }

  #publish(event: Parameters<typeof eventFrame>[0]): void {
    const frame = eventFrame(event);
    if (frame === null) return;
    let sent = 0;
    const topics = topicsOf(event.type, event.data);
    for (const subscriber of this.#subscribers.of({ company_id: event.company_id, topics })) {
      if (subscriber.sees(event) && subscriber.send(event.seq, frame)) {
        sent += 1;
        this.#dropIfSlow(subscriber);
      }
    }
    this.metrics.published(event.company_id, sent);
  }

  async #countInTime(): Promise<void> {
    try {
      await this.counters();
    } catch (error) {
      this.#options.logger.warn('live events could not be counted; trying again', { error });
    }
  }

  #queueRanges(items: readonly string[]): void {
    if (this.#subscribers.size === 0) return;
    // Transcripts that no one follows are not read.
    this.#transcripts.add(parseRanges(items).filter((range) => this.#subscribers.wants(audienceOf(range))));
  }

  #relay(entry: TranscriptEntry): void {
    let frames: ReturnType<typeof transcriptFrames> | undefined;
    for (const subscriber of this.#subscribers.of(audienceOf(entry))) {
      if (!subscriber.mayFollow(entry)) continue;
      if (subscriber.sink.entry) subscriber.sink.entry(entry);
      else subscriber.sendUnnumbered((frames ??= transcriptFrames(entry)));
      this.#dropIfSlow(subscriber);
    }
  }

  /** Writes in batches: ten thousand streams in one go would block everything else for a fifth of a second. */
  async #beat(): Promise<void> {
    // What could not be read does not wait for the next event.
    if (this.#announced === null || this.#announced > this.#last) this.#readUpTo(this.#announced);
    let sent = 0;
    // A snapshot: in the meantime streams are added and reindexed.
    const streams = Array.from(this.#subscribers.all());
    for (const subscriber of streams) {
      if (subscriber.closed) continue;
      subscriber.sendUnnumbered(HEARTBEAT_FRAME);
      subscriber.advance(this.#last);
      this.#dropIfSlow(subscriber);
      if (++sent % BROADCAST_PART === 0) await setImmediate();
    }
    this.#dropSlowestOverTotal();
  }

  #dropIfSlow(subscriber: Subscriber): void {
    if (subscriber.closed || subscriber.sink.pending() <= (this.#options.max_pending_bytes ?? 262_144))
      return;
    this.#drop(subscriber);
  }

  #dropSlowestOverTotal(): void {
    const limit = this.#options.max_pending_bytes_total ?? 67_108_864;
    const waiting = [...this.#subscribers.all()]
      .map((subscriber) => ({ subscriber, bytes: subscriber.sink.pending() }))
      .filter(({ bytes }) => bytes > 0);
    let total = waiting.reduce((sum, { bytes }) => sum + bytes, 0);
    if (total <= limit) return;
    for (const { subscriber, bytes } of waiting.toSorted((a, b) => b.bytes - a.bytes)) {
      if (total <= limit) return;
      total -= bytes;
      this.#drop(subscriber);
    }
  }

  #drop(subscriber: Subscriber): void {
    for (const company of subscriber.companies) this.metrics.dropped(company);
    this.unsubscribe(subscriber);
  }

  #credentialsChanged(items: readonly string[]): void {
    const named = new Set(items);
    const all = [...this.#subscribers.all()];
    void this.#verify(named.has(WILDCARD) ? all : all.filter((subscriber) => subscriber.isNamedIn(named)));
  }

  /**
   * A revoked key's streams stay open (specification, Live event stream); those of keys whose creator had to leave do not, nor
   * those of whoever has ended (`endedKeys`): a run's key must not outlive its run.
   */
  #keysEnded(items: readonly string[]): void {
    const ended = new Set(items);
    for (const subscriber of this.#subscribers.all()) {
      const { actor } = subscriber;
      const key = actor.kind === 'agent' || actor.kind === 'board_user' ? actor.key_id : null;
      if (key !== null && (ended.has(key) || ended.has(WILDCARD))) this.unsubscribe(subscriber);
    }
  }

  /** One time after another: of two at once, the one that began earlier might have the last word. */
  async #verify(subscribers: readonly Subscriber[]): Promise<void> {
    return (this.#verifying = this.#verifying.then(async () => this.#verifyNow(subscribers)));
  }

  /** Ends streams that may no longer see anything and updates the access of the others. Never throws. */
  async #verifyNow(subscribers: readonly Subscriber[]): Promise<void> {
    if (subscribers.length === 0) return;
    try {
      const access = await verifyAccess(this.#options.database.db, subscribers);
      for (const [subscriber, rights] of access) {
        if (subscriber.closed) continue;
        if (rights) this.#subscribers.put(Object.assign(subscriber, rights));
        else this.unsubscribe(subscriber);
      }
    } catch (error) {
      this.#options.logger.warn('live streams could not be verified', { error });
    }
  }
}
