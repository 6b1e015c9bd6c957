import { type RunEventBatch, storeManyRunEvents, storeRunEvents } from '@acp/core';
import { type Database, isRefusal } from '@acp/db';
import { Batches } from '@acp/kernel';

/** Maximum number of runs per statement: some megabytes if all of them write as much as they may between two. */
const MOST_RUNS = 100;
/** Imperceptible to the eye, yet only a few statements a second however many runs write. */
const REST_MS = 10;

/** Stores the output of this process's runs in batches, and notifies readers with one message per batch. */
export class TranscriptWriter {
  readonly #database: Database;
  readonly #batches: Batches<RunEventBatch, boolean>;
  /** First words, which do not wait for the output of many others. */
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
   * Must be called sequentially for each run.
   * @param awaited someone is waiting for it
   * @returns false: the run is no longer ours, and nothing was written
   */
  async store(batch: RunEventBatch, awaited: boolean): Promise<boolean> {
    if (await (awaited ? this.#awaited : this.#batches).add(batch)) return true;
    const item = await storeRunEvents(this.#database.db, batch);
    this.#tell([item]);
    return item !== undefined;
  }

  #tell(items: readonly (string | undefined)[]): void {
    const signals = items.filter((item) => item !== undefined);
    if (signals.length > 0) this.#database.notifier?.push('transcripts', signals);
  }
}
