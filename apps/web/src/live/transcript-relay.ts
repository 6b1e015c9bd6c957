/** Passes transcript entries from the database to the streams that follow their runs. */
import { listTranscriptRanges, type TranscriptEntry, type TranscriptRange } from '@acp/core';
import type { Database } from '@acp/db';
import type { Logger } from '@acp/kernel';

/** Concurrent reads, so that the first output of one run does not wait for that of a hundred others. */
const READS = 3;
/** Maximum number of ranges per read. */
const PAGE = 500;

interface RelayOptions {
  database: Database;
  logger: Logger;
  /** Called for each entry; the entries of a run are in order. */
  onEntry: (entry: TranscriptEntry) => void;
}

export class TranscriptRelay {
  readonly #options: RelayOptions;
  #waiting: TranscriptRange[] = [];
  /** For each read in progress, the runs it covers. */
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

  /** Takes the ranges to read next; skips runs that are being read, so that their entries stay in order. */
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
