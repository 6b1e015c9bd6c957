import { type RunEventBatch, storeManyRunEvents, storeRunEvents } from '@acp/core';
import { type Database, isRefusal } from '@acp/db';
import { Batches } from '@acp/kernel';

/** Runs of one statement: some megabytes, where all of them say as much as they may between two. */
const MOST_RUNS = 100;
/** What the eye takes for at once, and few statements a second however many runs speak. */
const REST_MS = 10;

/** Stores what the runs of this process say: together, and told to the readers by one message. */
export class TranscriptWriter {
  readonly #database: Database;
  readonly #batches: Batches<RunEventBatch, boolean>;
  /** First words: they do not wait for what many others are saying. */
  readonly #awaited: Batches<RunEventBatch, boolean>;

  constructor(database: Database) {
    this.#database = database;
    const options = {
      most: MOST_RUNS,
      tries_alone: isRefusal,
      perform: async (batches: RunEventBatch[]) => {
        const items = await storeManyRunEvents(database.db, batches);
        this.#tell(items);
        return items.map((item) => item !== undefined);
      },
    };
    this.#batches = new Batches({ ...options, rest_ms: REST_MS });
    this.#awaited = new Batches(options);
  }

  /**
   * One after the other of each run.
   * @param awaited somebody waits for it
   * @returns false: the run is not ours any more, and nothing was written
   */
  async store(batch: RunEventBatch, awaited: boolean): Promise<boolean> {
    if (await (awaited ? this.#awaited : this.#batches).add(batch)) return true;
    const item = await storeRunEvents(this.#database.db, batch);
    this.#tell([item]);
    return item !== undefined;
  }

  #tell(items: readonly (string | undefined)[]): void {
    const told = items.filter((item) => item !== undefined);
    if (told.length > 0) this.#database.notifier?.push('transcripts', told);
  }
}
