interface BatchOptions<T, R> {
  /** Items of one batch. */
  most: number;
  /** Least milliseconds from the begin of one batch to that of the next; the first one after a pause goes at once. */
  rest_ms?: number;
  /** One answer for each item, in order; nothing was done where it throws. */
  perform: (items: T[]) => Promise<readonly R[]>;
  /**
   * Whether each item of a batch that threw is tried by itself, for items of strangers, of which one may be what nobody can
   * store. Else all callers get what was thrown.
   */
  tries_alone?: (error: unknown) => boolean;
}

interface Waiting<T, R> {
  item: T;
  done: PromiseWithResolvers<R>;
}

/** Does what many callers want together, one batch after the other: what comes while one is under way goes with the next. */
export class Batches<T, R> {
  readonly #options: BatchOptions<T, R>;
  #waiting: Waiting<T, R>[] = [];
  #isRunning = false;
  #begunAt = -Infinity;

  constructor(options: BatchOptions<T, R>) {
    this.#options = options;
  }

  async add(item: T): Promise<R> {
    const done = Promise.withResolvers<R>();
    this.#waiting.push({ item, done });
    if (!this.#isRunning) void this.#run();
    return done.promise;
  }

  /** Until nothing waits. Never rejects. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    // Requests that were read in the same turn of the loop go along.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      await this.#rest();
      await this.#perform(this.#waiting.splice(0, this.#options.most));
    }
    this.#isRunning = false;
  }

  async #rest(): Promise<void> {
    const { rest_ms = 0 } = this.#options;
    const left = this.#begunAt + rest_ms - performance.now();
    if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
    this.#begunAt = performance.now();
  }

  async #perform(batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const answers = await this.#options.perform(batch.map(({ item }) => item));
      if (answers.length !== batch.length) throw new Error('a batch was not answered in full');
      for (const [place, { done }] of batch.entries()) done.resolve(answers[place]!);
    } catch (error) {
      if (batch.length > 1 && this.#options.tries_alone?.(error) === true)
        for (const each of batch) await this.#perform([each]);
      else for (const { done } of batch) done.reject(error);
    }
  }
}
