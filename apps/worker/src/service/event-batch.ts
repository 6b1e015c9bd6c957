/** Sends one task's events to its transcript: in order, batched, bounded, and without delaying the task. */
import type { AdapterEvent } from '@acp/adapters';
import { scrubbedJson, type Scrubber, ScrubberStream } from '@acp/kernel';
import { Backoff, pause } from './backoff.ts';
import { type ControlPlane, Refusal, type TaskEvent } from './control-plane.ts';
import type { Link } from './link.ts';

export interface EventBatchSettings {
  task_id: string;
  plane: Pick<ControlPlane, 'sendEvents'>;
  link: Pick<Link, 'works' | 'fails'>;
  scrubber: Scrubber;
  /** Minimum time between two batches. */
  batch_ms: number;
}

/** Per request, in characters of JSON; well below the service's 1 MiB for any text. */
const BATCH_LENGTH = 200_000;
const BATCH_EVENTS = 500;
/** Maximum length of one text; longer ones are split. */
const PIECE = 16_000;
/** Buffered while the service is unreachable; anything beyond is counted and dropped. */
const MOST_EVENTS = 5000;
const MOST_LENGTH = 4_000_000;

export class EventBatch {
  readonly #set: EventBatchSettings;
  readonly #stop = new AbortController();
  readonly #output: ScrubberStream;
  #queue: TaskEvent[] = [];
  #length = 0;
  #leftOut = 0;
  #given = false;
  #wake = new AbortController();
  readonly #sending: Promise<void>;

  constructor(settings: EventBatchSettings) {
    this.#set = settings;
    this.#output = new ScrubberStream(settings.scrubber);
    this.#sending = this.#send();
  }

  add(event: AdapterEvent): void {
    if (event.kind === 'output') {
      this.#addOutput(this.#output.push(event.text));
      return;
    }
    this.#addOutput(this.#output.end());
    if (event.kind === 'tool' || event.kind === 'log') {
      const { kind, ...payload } = event;
      this.#add({ kind, payload: scrubbedJson(payload, this.#set.scrubber) });
    }
  }

  /** Sends what is left, within the given time, and ends. Never rejects except for a bug. */
  async close(within_ms: number): Promise<void> {
    this.#addOutput(this.#output.end());
    const timer = setTimeout(() => this.#stop.abort(), within_ms);
    this.#given = true;
    this.#wake.abort();
    await this.#sending;
    clearTimeout(timer);
  }

  /** Sends nothing more: the task is no longer ours. */
  drop(): void {
    this.#stop.abort();
  }

  #addOutput(text: string): void {
    for (let at = 0, piece = ''; at < text.length; at += piece.length) {
      piece = text.slice(at, at + PIECE);
      // Each piece is stored by itself: half of a surrogate pair goes with the other half.
      if (at + PIECE < text.length) piece = piece.replace(/[\uD800-\uDBFF]$/, '');
      const last = this.#queue.at(-1);
      // Streams arrive word by word; one row per word would make up most of the transcript.
      if (last?.kind === 'output' && String(last.payload.text).length + piece.length <= PIECE) {
        last.payload.text = `${String(last.payload.text)}${piece}`;
        this.#length += piece.length;
      } else this.#add({ kind: 'output', payload: { text: piece } });
    }
  }

  #add(event: TaskEvent): void {
    const length = lengthOf(event);
    if (this.#queue.length >= MOST_EVENTS || this.#length + length > MOST_LENGTH) this.#leftOut += 1;
    else {
      this.#queue.push(event);
      this.#length += length;
    }
  }

  async #send(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      if (!this.#given) await pause(this.#set.batch_ms, AbortSignal.any([signal, this.#wake.signal]));
      const batch = this.#take();
      if (batch.length > 0) await this.#deliver(batch, signal);
      else if (this.#given) return;
    }
  }

  #take(): TaskEvent[] {
    if (this.#leftOut > 0 && this.#queue.length < MOST_EVENTS) {
      const message = `${this.#leftOut} entries were left out while the service could not be reached`;
      this.#queue.push({ kind: 'log', payload: { message } });
      this.#leftOut = 0;
    }
    let length = 0;
    let count = 0;
    for (const event of this.#queue) {
      length += lengthOf(event);
      if (count > 0 && (length > BATCH_LENGTH || count >= BATCH_EVENTS)) break;
      count += 1;
    }
    const batch = this.#queue.splice(0, count);
    this.#length = this.#queue.reduce((sum, event) => sum + lengthOf(event), 0);
    return batch;
  }

  async #deliver(batch: TaskEvent[], signal: AbortSignal): Promise<void> {
    const { plane, link, task_id } = this.#set;
    const backoff = new Backoff();
    while (!signal.aborted) {
      try {
        await plane.sendEvents(task_id, batch, signal);
        link.works();
        return;
      } catch (err) {
        if (signal.aborted) return;
        // The service will never accept it: the transcript loses a part, the task continues.
        if (err instanceof Refusal && !err.passing && err.status !== 403) return;
        await pause(backoff.next(link.fails(err)), signal);
      }
    }
  }
}

function lengthOf({ payload }: TaskEvent): number {
  return typeof payload.text === 'string' ? payload.text.length : JSON.stringify(payload).length;
}
