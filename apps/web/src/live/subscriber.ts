import { type Actor, adminsOnly, privateTo, type Topic } from '@acp/contract';
import type { RunAudience, TranscriptEntry } from '@acp/core';

/** Where frames go: an HTTP response, or a test's array. */
export interface Sink {
  write(text: string): void;
  end(): void;
  /** Bytes that the reader has not taken yet. */
  pending(): number;
  /** Takes the entries of transcripts as they are, instead of their frames. */
  entry?(entry: TranscriptEntry): void;
}

export interface SubscriberOptions {
  actor: Actor;
  /** One company only (`?company_id=`), else all that the actor may see. */
  only: string | null;
  /** Only what is about one of them (`?topic=`), else everything. */
  topics?: readonly Topic[] | undefined;
  sink: Sink;
}

/** One open stream: what it may see, where it stands, and what waits until its replay is done. */
export class Subscriber {
  readonly actor: Actor;
  readonly only: string | null;
  readonly topics: readonly Topic[] | undefined;
  readonly sink: Sink;
  /** Companies whose events it gets; changed when memberships change. */
  companies: ReadonlySet<string> = new Set();
  /** Companies whose notifications it gets too. */
  admin_of: ReadonlySet<string> = new Set();
  /** Events without a company: instance admins. */
  instance_wide = false;
  /** While the replay runs, live frames wait here; null afterwards. */
  #waiting: { seq: number; frame: string }[] | null = [];
  #last = 0;
  closed = false;

  constructor(options: SubscriberOptions) {
    this.actor = options.actor;
    this.only = options.only;
    this.topics = options.topics;
    this.sink = options.sink;
  }

  /** Whether it asked for what is about these. */
  wants(topics: readonly Topic[]): boolean {
    return this.topics?.some((topic) => topics.includes(topic)) ?? true;
  }

  /** Whether it may see the event. */
  sees({ company_id, type, data }: { company_id: string | null; type: string; data: unknown }): boolean {
    if (company_id === null) return this.instance_wide;
    if (!this.companies.has(company_id) || !this.#isFor(privateTo(type, data))) return false;
    return !adminsOnly(type) || this.admin_of.has(company_id);
  }

  /** Whether it may follow the transcript of a run of one of its companies. */
  mayFollow({ company_id, admins_only, private_to_user_id }: RunAudience & { company_id: string }): boolean {
    if (!this.companies.has(company_id) || !this.#isFor(private_to_user_id)) return false;
    return !admins_only || this.admin_of.has(company_id);
  }

  /** What is private to a user is for that user's own streams, whoever else is admin. */
  #isFor(user_id: string | null): boolean {
    return user_id === null || (this.actor.kind === 'user' && this.actor.user_id === user_id);
  }

  /** A sequenced event. What the replay has sent already is passed over. */
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

  /** A replayed event: before all that waits. */
  replay(seq: number, frame: string): void {
    if (this.closed) return;
    this.#last = seq;
    this.sink.write(frame);
  }

  /** Ends the replay: what came meanwhile follows, without doubles. */
  goLive(from: number): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    this.#last = Math.max(this.#last, from);
    for (const { seq, frame } of waiting) this.send(seq, frame);
  }

  /** Frames without a number: transcripts, heartbeats. */
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
