import type { RunEventKind } from '@acp/contract';
import type { NewRunEvent, TranscriptBatch } from '@acp/core';
import { scrubbedJson, storableText } from '@acp/kernel';
import type { Logger, Scrubber, ScrubberStream } from '@acp/kernel';
import { RunStopped } from './held-run.ts';
import type { HeldRun } from './held-run.ts';
import { retryTransient } from './retry-transient.ts';
import type { TranscriptWriter } from './transcript-writer.ts';

interface TranscriptSettings {
  writer: TranscriptWriter;
  held: HeldRun;
  scrubber: Scrubber;
  logger: Logger;
  /** Where the transcript of a run that was taken back continues; otherwise 1. */
  first_seq?: number;
  /** Someone is waiting for the first words: they are stored immediately. */
  awaited?: boolean;
}

const FLUSH_MS = 100;
const FLUSH_CHARACTERS = 16_384;
/** Delay for awaited first words, so that text arriving along with them is included. */
const FIRST_FLUSH_MS = 5;

/**
 * The run's transcript on its way to the database. Events are numbered here, since there is only one lease owner,
 * scrubbed, and batched: about every 100 ms or 16 KB, never per token. Each batch is written in one statement together
 * with those of the process's other runs.
 */
export class Transcript {
  readonly #set: TranscriptSettings;
  /** Sequence number of the first pending event. */
  #nextSeq: number;
  #pending: NewRunEvent[] = [];
  #text = '';
  /** No text has been stored yet. */
  #first = true;
  /** The next write contains such text. */
  #hurry = false;
  #stream: ScrubberStream;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer is due, in `performance.now()` time. */
  #due = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(settings: TranscriptSettings) {
    this.#set = settings;
    this.#nextSeq = settings.first_seq ?? 1;
    this.#stream = settings.scrubber.stream();
  }

  /** Adds streamed text. Waits only if the database lags behind the model. */
  async output(text: string): Promise<void> {
    this.#text += this.#stream.push(text);
    if (this.#set.awaited === true && this.#first && this.#text !== '') {
      this.#first = false;
      this.#hurry = true;
      this.#schedule(FIRST_FLUSH_MS);
    } else this.#schedule(FLUSH_MS);
    if (this.#text.length >= FLUSH_CHARACTERS) await this.flush();
  }

  /** Ends the streamed text: releases what the scrubber held back. */
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

  /** Resolves when everything so far is stored. Stores nothing, and does not throw, once the run is no longer ours. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(async () => this.#write());
    await this.#writing;
  }

  /** Returns what is not stored yet, once everything before it is, for a caller that stores it along with something else. */
  async takeRest(): Promise<TranscriptBatch> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#writing;
    this.#takeText(true);
    return this.#take();
  }

  /** @param ms upper limit; an earlier timer is kept */
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
      if (!(await retryTransient(held, logger, async () => writer.store(batch, awaited)))) held.stop('lost');
    } catch (err) {
      if (err instanceof RunStopped) return;
      // A transcript with a gap is better than a run that fails because of its transcript.
      logger.error('transcript entries were not stored', { run_id: held.run_id, error: err });
    }
  }

  #take(): TranscriptBatch {
    const batch = { first_seq: this.#nextSeq, events: this.#pending };
    this.#pending = [];
    this.#nextSeq += batch.events.length;
    return batch;
  }

  /** @param all includes a trailing half of a surrogate pair, whose other half may follow with the next piece */
  #takeText(all: boolean): void {
    const half = !all && /[\ud800-\udbff]$/.test(this.#text);
    const text = half ? this.#text.slice(0, -1) : this.#text;
    this.#text = half ? this.#text.slice(-1) : '';
    const clean = storableText(text);
    if (clean !== '') this.#pending.push({ kind: 'output', payload: { text: clean } });
  }
}
