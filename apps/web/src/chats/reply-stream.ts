import { type Actor, ReplyText, type RunEvent, verbLine } from '@acp/contract';
import { type ChatRow, listRunEvents, presentMessage, readReply } from '@acp/core';
import type { Tx } from '@acp/db';
import type { LiveHub } from '../live/hub.ts';
import type { Sink, Subscriber } from '../live/subscriber.ts';
import { END, frameId, type Place } from './frame-id.ts';

interface ReplyStreamOptions {
  tx: Tx;
  hub: LiveHub;
  actor: Actor;
  chat: Pick<ChatRow, 'id' | 'company_id'>;
  /** The message, and the position of a reader that reconnects. */
  from: Place;
  sink: Sink;
}

type Entry = Pick<RunEvent, 'seq' | 'kind' | 'payload'>;

const PAGE = 1000;
const terminal: readonly unknown[] = ['succeeded', 'failed', 'cancelled'];

/**
 * Streams the reply to one message while it is written: its run's transcript entries become `delta`, `action`, `reset`, and
 * finally `done` or `error`. Entries arrive from the live hub, which also handles permissions and slow readers; missing ones
 * are read from the database, the source of truth. Frames depend on the transcript alone, so that a reader that reconnects
 * to any process gets those after its last one.
 */
export class ReplyStream {
  readonly #set: ReplyStreamOptions;
  #subscriber: Subscriber | undefined;
  #run_id: string | null;
  /** The last entry processed. */
  #seq = 0;
  /** The reader has everything up to here. */
  #had: { seq: number; part: number };
  #text = new ReplyText();
  #looking = false;
  #again = false;
  #closed = false;

  constructor(options: ReplyStreamOptions) {
    this.#set = options;
    this.#run_id = options.from.run_id;
    this.#had = options.from;
  }

  /** @throws rateLimited if the caller has too many open streams */
  async open(): Promise<void> {
    const { hub, actor, chat, sink } = this.#set;
    const relay: Sink = {
      pending: () => sink.pending(),
      end: () => this.#end(),
      entry: (entry) => this.#live(entry.run_id, entry),
      write: (frame) => {
        // Comments and `retry:` are for the reader; events and heartbeats trigger a check.
        if (frame.startsWith(':') || frame.startsWith('retry:')) sink.write(frame);
        this.#look();
      },
    };
    this.#subscriber = await hub.subscribe(
      { actor, only: chat.company_id, topics: [`chat:${chat.id}`], sink: relay },
      null,
    );
    if (this.#closed) hub.unsubscribe(this.#subscriber);
    this.#look();
  }

  close(): void {
    this.#closed = true;
    if (this.#subscriber) this.#set.hub.unsubscribe(this.#subscriber);
  }

  #end(): void {
    this.#closed = true;
    this.#set.sink.end();
  }

  #live(run_id: string, entry: Entry): void {
    if (run_id === this.#run_id && entry.seq === this.#seq + 1 && !this.#looking) this.#take(entry);
    else this.#look();
  }

  #look(): void {
    this.#again = true;
    if (!this.#looking) void this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    this.#looking = true;
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        await this.#read();
      }
    } catch (error) {
      // The reader reconnects and resumes at its position.
      this.#set.hub.logger.warn('the stream of a reply was interrupted', { error });
      this.close();
    } finally {
      this.#looking = false;
    }
  }

  async #read(): Promise<void> {
    const { tx, actor, from } = this.#set;
    const state = await readReply(tx, from.message_id);
    if (state === undefined) return this.#finish('error', { error: 'the message is gone' });
    const { message, reply } = state;
    this.#follow(message.run_id);
    if (this.#run_id !== null) {
      for (let full = true; full && !this.#closed;) {
        const page = await listRunEvents(tx, actor, this.#run_id, { after: this.#seq, limit: PAGE });
        for (const entry of page) this.#take(entry);
        full = page.length > 0;
      }
    }
    if (message.status === 'waiting' || message.status === 'answering') return undefined;
    if (reply !== null) return this.#finish('done', presentMessage(reply));
    return this.#finish('error', { error: message.error ?? 'the reply was stopped' });
  }

  /** Another run has taken over the work: the previous run's text is void. */
  #follow(run_id: string | null): void {
    if (run_id === this.#run_id) return;
    const void_text = this.#run_id !== null;
    this.#run_id = run_id;
    this.#seq = 0;
    this.#had = { seq: 0, part: 0 };
    this.#text = new ReplyText();
    if (void_text) this.#write({ seq: 0, part: 0 }, 'reset', {});
  }

  #take({ seq, kind, payload }: Entry): void {
    if (seq <= this.#seq) return;
    this.#seq = seq;
    let part = 0;
    const text = this.#text.take({ kind, payload });
    if (text !== '') {
      part += 1;
      this.#write({ seq, part }, 'delta', { text });
    }
    if (kind === 'action') {
      const { ordinal, verb, ok, result, error } = payload;
      part += 1;
      this.#write({ seq, part }, 'action', { ordinal, verb, line: verbLine(payload), ok, result, error });
    }
    if (kind === 'status' && terminal.includes(payload.status)) this.#look();
  }

  #write(place: { seq: number; part: number }, event: string, data: unknown): void {
    const { seq, part } = this.#had;
    if (event !== 'reset' && (place.seq < seq || (place.seq === seq && place.part <= part))) return;
    this.#send(place, event, data);
  }

  #send(place: { seq: number; part: number }, event: string, data: unknown): void {
    if (this.#closed) return;
    const { sink, from } = this.#set;
    const id = frameId({ message_id: from.message_id, run_id: this.#run_id, ...place });
    sink.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  #finish(event: 'done' | 'error', data: unknown): void {
    this.#send({ seq: END, part: 0 }, event, data);
    this.close();
  }
}
