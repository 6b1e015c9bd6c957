/**
 * Writes heartbeats together: what comes while one batch is being written goes with the next. A heartbeat is answered
 * once it is stored, so that a worker that was offline gets tasks with its next claim.
 */
import { noteHeartbeats, type WorkerBeat } from '@acp/core';
import { type Database, transaction } from '@acp/db';

interface Waiting {
  beat: WorkerBeat;
  done: PromiseWithResolvers<void>;
}

const MOST = 1000;

export class HeartbeatWriter {
  readonly #database: Database;
  /** By worker: of two heartbeats in one batch the later one counts. */
  #waiting = new Map<string, Waiting>();
  #isWriting = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Rejects with what the database says. */
  async add(beat: WorkerBeat): Promise<void> {
    const known = this.#waiting.get(beat.worker_id);
    if (known !== undefined) known.beat = beat;
    const waiting = known ?? { beat, done: Promise.withResolvers<void>() };
    if (known === undefined) this.#waiting.set(beat.worker_id, waiting);
    if (!this.#isWriting) void this.#write();
    await waiting.done.promise;
  }

  /** Until nothing waits. Never rejects. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    // Those of the same tick go along.
    await Promise.resolve();
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, MOST);
      for (const [worker_id] of batch) this.#waiting.delete(worker_id);
      const waiting = batch.map(([, each]) => each);
      try {
        await transaction(this.#database, async (tx) =>
          noteHeartbeats(
            tx,
            waiting.map(({ beat }) => beat),
          ),
        );
        for (const { done } of waiting) done.resolve();
      } catch (error) {
        for (const { done } of waiting) done.reject(error);
      }
    }
    this.#isWriting = false;
  }
}
