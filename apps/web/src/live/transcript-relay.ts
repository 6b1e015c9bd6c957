/** Brings what runs say from the database to the streams that follow them. */
import { listTranscriptRanges, type TranscriptEntry, type TranscriptRange } from '@acp/core';
import type { Database } from '@acp/db';
import type { Logger } from '@acp/kernel';

/** Reads at once: the first words of one run do not wait for what a hundred others say. */
const READS = 3;
/** Ranges of one read. */
const PAGE = 500;

interface RelayOptions {
  database: Database;
  logger: Logger;
  /** Called for each entry; those of a run in their order. */
  onEntry: (entry: TranscriptEntry) => void;
}

export class TranscriptRelay {
  readonly #options: RelayOptions;
  #waiting: TranscriptRange[] = [];
  /** The runs that each of the reads under way is about. */
  readonly #reads = new Set<ReadonlySet<string>>();

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  add(ranges: readonly TranscriptRange[]): void {
    this.#waiting.push(...ranges);
    if (this.#reads.size < READS) void this.#read();
  }

  async #read(): Promise<void> {
    const { database, logger, onEntry } = this.#options;
    for (let ranges = this.#take(); ranges.length > 0; ranges = this.#take()) {
      const runs = new Set(ranges.map(({ run_id }) => run_id));
      this.#reads.add(runs);
      try {
        for (const entry of await listTranscriptRanges(database.db, ranges)) onEntry(entry);
      } catch (error) {
        // Clients fill the gap from the events routes.
        logger.warn('a transcript could not be read for the live stream', { error });
      } finally {
        this.#reads.delete(runs);
      }
    }
  }

  /** What is to be read next: nothing of a run that is being read, so that its entries come in order. */
  #take(): TranscriptRange[] {
    const busy = new Set([...this.#reads].flatMap((runs) => [...runs]));
    const taken: TranscriptRange[] = [];
    const left: TranscriptRange[] = [];
    for (const range of this.#waiting)
      (taken.length === PAGE || busy.has(range.run_id) ? left : taken).push(range);
    this.#waiting = left;
    return taken;
  }
}
