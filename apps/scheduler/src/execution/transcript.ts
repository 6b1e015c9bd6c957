import type { RunEventKind } from '@acp/contract';
import type { NewRunEvent, TranscriptBatch } from '@acp/core';
import { scrubbedJson, storableText } from '@acp/kernel';
import type { Logger, Scrubber, ScrubberStream } from '@acp/kernel';
import { RunStopped } from './held-run.ts';
import type { HeldRun } from './held-run.ts';
import { persist } from './persist.ts';
import type { TranscriptWriter } from './transcript-writer.ts';

interface TranscriptSettings {
  writer: TranscriptWriter;
  held: HeldRun;
  scrubber: Scrubber;
  logger: Logger;
  /** Where it goes on, of a run that was taken back; else 1. */
  first_seq?: number;
  /** Somebody waits for the first words: they are stored at once. */
  awaited?: boolean;
}

const FLUSH_MS = 100;
const FLUSH_CHARACTERS = 16_384;
/** Of the first words that somebody waits for: what comes in one piece with them goes along. */
const FIRST_FLUSH_MS = 5;

/**
 * The run's transcript on its way to the database: numbered here, because there is one lease holder, scrubbed, and
 * batched: about every 100 ms or 16 KB, never per token. What comes within one batch travels as one statement, with that of
 * the other runs of the process.
 */
export class Transcript {
  readonly #set: TranscriptSettings;
  /** The number of the first pending event. */
  #nextSeq: number;
  #pending: NewRunEvent[] = [];
  #text = '';
  /** Nothing of the text has been stored yet. */
  #first = true;
  /** Such text is in what is stored next. */
  #hurry = false;
  #stream: ScrubberStream;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer is due, as `performance.now()` has it. */
  #due = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(settings: TranscriptSettings) {
    this.#set = settings;
    this.#nextSeq = settings.first_seq ?? 1;
    this.#stream = settings.scrubber.stream();
  }

  /** Streamed text. Waits only where the database lags behind the model. */
  async output(text: string): Promise<void> {
    this.#text += this.#stream.push(text);
    if (this.#set.awaited === true && this.#first && this.#text !== '') {
      this.#first = false;
      this.#hurry = true;
      this.#schedule(FIRST_FLUSH_MS);
    } else this.#schedule(FLUSH_MS);
    if (this.#text.length >= FLUSH_CHARACTERS) await this.flush();
  }

  /** The streamed text ends here: what the scrubber held back comes out. */
  endOutput(): void {
    this.#text += this.#stream.end();
    this.#stream = this.#set.scrubber.stream();
    this.#first = true;
    this.#takeText(true);
  }

  add(kind: RunEventKind, payload: Record<string, unknown>): void {
    this.endOutput();
    this.#pending.push({ kind, payload: scrubbedJson(payload, this.#set.scrubber) });
    this.#schedule(FLUSH_MS);
  }

  /** Resolves when everything so far is stored. Nothing is stored, and nothing thrown, once the run is not ours. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(async () => this.#write());
    await this.#writing;
  }

  /** What is not stored yet, once everything before it is: for a caller that stores it together with something else. */
  async takeRest(): Promise<TranscriptBatch> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#writing;
    this.#takeText(true);
    return this.#take();
  }

  /** @param ms no later than that; what is due sooner stays so */
  #schedule(ms: number): void {
    const due = performance.now() + ms;
    if (this.#timer !== undefined && this.#due <= due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => void this.flush(), ms).unref();
  }

  async #write(): Promise<void> {
    this.#takeText(false);
    const { first_seq, events } = this.#take();
    if (events.length === 0) return;
    const { writer, held, logger } = this.#set;
    const batch = { lease: held, first_seq, events };
    const awaited = this.#hurry;
    this.#hurry = false;
    try {
      if (!(await persist(held, logger, async () => writer.store(batch, awaited)))) held.stop('lost');
    } catch (err) {
      if (err instanceof RunStopped) return;
      // A transcript with a gap is better than a run that fails for its transcript.
      logger.error('transcript entries were not stored', { run_id: held.run_id, error: err });
    }
  }

  #take(): TranscriptBatch {
    const batch = { first_seq: this.#nextSeq, events: this.#pending };
    this.#pending = [];
    this.#nextSeq += batch.events.length;
    return batch;
  }

  /** @param all also a last half of a surrogate pair, whose other half would come with the next piece. */
  #takeText(all: boolean): void {
    const half = !all && /[\ud800-\udbff]$/.test(this.#text);
    const text = half ? this.#text.slice(0, -1) : this.#text;
    this.#text = half ? this.#text.slice(-1) : '';
    const clean = storableText(text);
    if (clean !== '') this.#pending.push({ kind: 'output', payload: { text: clean } });
  }
}
