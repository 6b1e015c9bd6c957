import { type Actor, adminsOnly, privateTo, type Topic } from '@acp/contract';
import type { RunAudience, TranscriptEntry } from '@acp/core';

/** Destination of frames: an HTTP response, or a test's array. */
export interface Sink {
  write(text: string): void;
  end(): void;
  /** Bytes that the reader has not received yet. */
  pending(): number;
  /** Receives the number up to which the reader has everything, for readers that resume there. */
  position?(seq: number): void;
  /** Receives transcript entries as they are, instead of their frames. */
  entry?(entry: TranscriptEntry): void;
}

export interface SubscriberOptions {
  actor: Actor;
  /** Limits the stream to one company (`?company_id=`); null: all that the actor may see. */
  only: string | null;
  /** Limits the stream to events about these (`?topic=`); absent: everything. */
  topics?: readonly Topic[] | undefined;
  sink: Sink;
}

/** One open stream: what it may see, its position, and the frames that wait until its replay is finished. */
export class Subscriber {
  readonly actor: Actor;
  readonly only: string | null;
  readonly topics: readonly Topic[] | undefined;
  readonly sink: Sink;
  /** Companies whose events the stream gets; updated when memberships change. */
  companies: ReadonlySet<string> = new Set();
  /** Companies whose notifications it gets as well. */
  admin_of: ReadonlySet<string> = new Set();
  /** Whether it gets events without a company: for instance admins. */
  instance_wide = false;
  /** Live frames that wait during the replay; null afterwards. */
  #waiting: { seq: number; frame: string }[] | null = [];
  #last = 0;
  closed = false;

  constructor(options: SubscriberOptions) {
    this.actor = options.actor;
    this.only = options.only;
    this.topics = options.topics;
    this.sink = options.sink;
  }

  /** Whether the stream subscribed to any of the topics. */
  wants(topics: readonly Topic[]): boolean {
    return this.topics?.some((topic) => topics.includes(topic)) ?? true;
  }

  /** Whether its access may have changed, given the ids of users, sessions, agents, keys of runs, and companies. */
  isNamedIn(ids: ReadonlySet<string>): boolean {
    const { actor } = this;
    if ([...this.companies].some((company) => ids.has(company))) return true;
    if (actor.kind === 'agent') return ids.has(actor.agent_id) || ids.has(actor.key_id ?? '');
    return actor.kind === 'user' && (ids.has(actor.user_id) || ids.has(actor.session_id ?? ''));
  }

  /** Whether the actor may see the event. */
  sees({ company_id, type, data }: { company_id: string | null; type: string; data: unknown }): boolean {
    if (company_id === null) return this.instance_wide;
    if (!this.companies.has(company_id) || !this.#isFor(privateTo(type, data))) return false;
    return !adminsOnly(type) || this.admin_of.has(company_id);
  }

  /** Whether the actor may follow the transcript of a run of one of its companies. */
  mayFollow({ company_id, admins_only, private_to_user_id }: RunAudience & { company_id: string }): boolean {
    if (!this.companies.has(company_id) || !this.#isFor(private_to_user_id)) return false;
    return !admins_only || this.admin_of.has(company_id);
  }

  /** Anything private to a user is only for that user's own streams, not for other admins. */
  #isFor(user_id: string | null): boolean {
    return user_id === null || (this.actor.kind === 'user' && this.actor.user_id === user_id);
  }

  /** Sends a sequenced event. Skips those that the replay has already sent. */
  send(seq: number, frame: string): boolean {
    if (this.closed) return false;
    if (this.#waiting) {
      this.#waiting.push({ seq, frame });
      return false;
    }
    if (seq <= this.#last) return false;
    this.#last = seq;
    this.sink.write(frame);
    return true;
  }

  /** Sends a replayed event, ahead of everything that waits. */
  replay(seq: number, frame: string): void {
    if (this.closed) return;
    this.#last = seq;
    this.sink.write(frame);
  }

  /** Ends the replay: sends what has arrived since, without duplicates. */
  goLive(from: number): void {
    if (this.closed) return;
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    this.#last = Math.max(this.#last, from);
    // Whoever is cut off before the first event resumes here.
    this.sink.position?.(this.#last);
    for (const { seq, frame } of waiting) this.send(seq, frame);
  }

  /** Everything up to `seq` that was for the stream has been sent: tells the reader, even if it was nothing. */
  advance(seq: number): void {
    if (this.closed || this.#waiting || seq <= this.#last) return;
    this.#last = seq;
    this.sink.position?.(seq);
  }

  /** Sends frames without a number: transcripts, heartbeats. */
  sendUnnumbered(frame: string): void {
    if (!this.closed) this.sink.write(frame);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#waiting = null;
    this.sink.end();
  }
}
