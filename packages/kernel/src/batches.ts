interface BatchOptions<T, R> {
  /** Maximum number of items per batch. */
  most: number;
  /** Minimum time between the starts of two batches, in milliseconds; the first one after a pause starts immediately. */
  rest_ms?: number;
  /** Returns one answer per item, in order; if it throws, nothing was done. */
  perform: (items: T[]) => Promise<readonly R[]>;
  /**
   * Whether the items of a failed batch are retried one by one. Useful when items come from strangers and one of them may be
   * impossible to store. Otherwise all callers get the error.
   */
  tries_alone?: (error: unknown) => boolean;
}

interface Waiting<T, R> {
  item: T;
  done: PromiseWithResolvers<R>;
}

/** Batches work that many callers submit: items that arrive while a batch is running go into the next one. */
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

  /** Runs until the queue is empty. Never rejects. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    // Requests read in the same turn of the event loop join the batch.
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
      if (answers.length !== batch.length) throw new Error('a batch was only partly answered');
      for (const [place, { done }] of batch.entries()) done.resolve(answers[place]!);
    } catch (error) {
      if (batch.length > 1 && this.#options.tries_alone?.(error) === true)
        for (const each of batch) await this.#perform([each]);
      else for (const { done } of batch) done.reject(error);
    }
  }
}
