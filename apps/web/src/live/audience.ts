import { type Actor, type Topic, transcriptTopics } from '@acp/contract';
import { actorId, type TranscriptEntry, type TranscriptRange } from '@acp/core';
import type { Subscriber } from './subscriber.ts';

/** The subject of an event or a transcript; `company_id` null: visible to instance admins. */
interface Subject {
  company_id: string | null;
  topics: readonly Topic[];
}

const everything = (company_id: string | null) => company_id ?? 'instance';
const about = (company_id: string | null, topic: Topic) => `${everything(company_id)} ${topic}`;

/** The subject of a run's transcript. */
export const audienceOf = (of: TranscriptRange | TranscriptEntry): Subject => ({
  company_id: of.company_id,
  topics: transcriptTopics(of),
});

/** Indexes open streams by what they subscribed to, so that an event touches only those that want it. */
export class Audience {
  readonly #keys = new Map<Subscriber, string[]>();
  readonly #streams = new Map<string, Set<Subscriber>>();
  /** Number of open streams per caller. */
  readonly #open = new Map<string | null, number>();

  get size(): number {
    return this.#keys.size;
  }

  all(): Iterable<Subscriber> {
    return this.#keys.keys();
  }

  /** Number of streams that the caller has open. */
  openOf(actor: Actor): number {
    return this.#open.get(actorId(actor)) ?? 0;
  }

  /** Adds the stream, or reindexes it after its companies changed. */
  put(subscriber: Subscriber): void {
    this.delete(subscriber);
    const { companies, instance_wide, topics } = subscriber;
    const places = [...companies, ...(instance_wide ? [null] : [])];
    const keys = places.flatMap(
      (company) => topics?.map((topic) => about(company, topic)) ?? everything(company),
    );
    this.#keys.set(subscriber, keys);
    const caller = actorId(subscriber.actor);
    this.#open.set(caller, (this.#open.get(caller) ?? 0) + 1);
    for (const key of keys) {
      const streams = this.#streams.get(key);
      if (streams) streams.add(subscriber);
      else this.#streams.set(key, new Set([subscriber]));
    }
  }

  delete(subscriber: Subscriber): void {
    const keys = this.#keys.get(subscriber);
    if (keys === undefined) return;
    const caller = actorId(subscriber.actor);
    const open = (this.#open.get(caller) ?? 1) - 1;
    if (open > 0) this.#open.set(caller, open);
    else this.#open.delete(caller);
    for (const key of keys) {
      const streams = this.#streams.get(key);
      streams?.delete(subscriber);
      if (streams?.size === 0) this.#streams.delete(key);
    }
    this.#keys.delete(subscriber);
  }

  /** Whether any stream wants the subject. */
  wants(subject: Subject): boolean {
    return this.#setsFor(subject).length > 0;
  }

  /** The streams that want the subject, each once, however many of its topics they subscribed to. */
  of(subject: Subject): Iterable<Subscriber> {
    const sets = this.#setsFor(subject);
    return sets.length === 1 ? sets[0]! : new Set(sets.flatMap((streams) => [...streams]));
  }

  #setsFor({ company_id, topics }: Subject): Set<Subscriber>[] {
    const keys = [everything(company_id), ...topics.map((topic) => about(company_id, topic))];
    return keys.flatMap((key) => this.#streams.get(key) ?? []);
  }
}
