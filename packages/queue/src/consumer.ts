import type { JobWithMetadata, PgBoss } from 'pg-boss';
import { setTimeout as delay } from 'node:timers/promises';
import { parseJobPayload } from '@acp/contract';
import type { JobName, JobPayload, JobRow } from '@acp/contract';
import { type Tx, writeAtCommit } from '@acp/db';
import { type Logger, traced } from '@acp/kernel';
import { Completions, completionStatement, messageOf } from './completions.ts';
import { POLL_MS } from './job-poll.ts';

export interface ConsumeOptions {
  /** Maximum number of concurrent handlers. */
  concurrency: number;
  /** Number of free slots shared with other consumers; an upper bound in addition to `concurrency`. */
  slots?: () => number;
}

interface JobContext {
  /** Aborts when the job's time is up or the process stops; the job then goes to someone else. */
  signal: AbortSignal;
  job_id: string;
  /** Starts at 1. */
  attempt: number;
  /** Completes the job with the commit of this transaction, which saves a commit of its own. Its failure must make the handler throw. */
  completeIn: (tx: Tx) => void;
}

/** Must be idempotent, as a job may be delivered again. Throwing retries it according to the catalogue. */
export type JobHandler<N extends JobName> = (payload: JobPayload<N>, context: JobContext) => Promise<void>;

interface ConsumerSettings<N extends JobName> {
  boss: PgBoss;
  job: N;
  row: JobRow;
  options: ConsumeOptions;
  handler: JobHandler<N>;
  logger?: Logger | undefined;
  /** Notifies other processes of a job that this one releases, and of when it may be fetched. */
  tell?: ((job: N, moment: number) => void) | undefined;
}

interface Running {
  attempt: { id: string; retryCount: number };
  abort: AbortController;
  done: Promise<void>;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 10_000;
// Start times are by the database's clock, which may be behind ours, so look again a little later.
const SECOND_LOOK_MS = 1000;

/** Fetches, handles and completes the jobs of one queue: on a kick (lost ones are repeated by `JobPoll`) and when slots become free. */
export class Consumer<N extends JobName> {
  readonly #set: ConsumerSettings<N>;
  readonly #completions: Completions;
  readonly #complete: ReturnType<typeof completionStatement>;
  readonly #running = new Map<string, Running>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #wanted = false;
  #failures = 0;
  #pumping: Promise<void> | null = null;
  #stopping = false;

  constructor(settings: ConsumerSettings<N>) {
    this.#set = settings;
    this.#completions = new Completions(settings.boss, settings.job, settings.logger);
    this.#complete = completionStatement(settings.boss, settings.job);
    this.kick();
  }

  get job(): N {
    return this.#set.job;
  }

  /** There may be something to fetch. */
  kick(): void {
    this.#wanted = true;
    this.#pump();
  }

  /** The same at a later time (milliseconds since the epoch). */
  kickAt(moment: number): void {
    const inMs = Math.max(0, moment - Date.now());
    // The poll comes sooner; besides, timers of days would overflow.
    if (inMs > POLL_MS) return;
    this.#kickIn(inMs + 5);
    this.#kickIn(inMs + SECOND_LOOK_MS);
  }

  /** Stops fetching, waits for running handlers, and after `timeoutMs` releases what is left. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#pumping;
    if (!(await this.#drained(timeoutMs))) {
      const left = [...this.#running.values()];
      for (const { abort } of left) abort.abort(new Error('the scheduler stops'));
      await Promise.all(left.map(async ({ attempt }) => this.#fail(attempt, 'the scheduler stopped')));
    }
    await this.#completions.flush();
  }

  async #drained(timeoutMs: number): Promise<boolean> {
    const timeout = new AbortController();
    const all = Promise.all([...this.#running.values()].map(async ({ done }) => done)).then(() => true);
    const tooLong = delay(timeoutMs, false, { signal: timeout.signal }).catch(() => false);
    const drained = await Promise.race([all, tooLong]);
    timeout.abort();
    return drained;
  }

  #kickIn(ms: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.kick();
    }, ms).unref();
    this.#timers.add(timer);
  }

  #free(): number {
    const { concurrency, slots } = this.#set.options;
    return Math.min(concurrency - this.#running.size, slots?.() ?? Infinity);
  }

  #pump(): void {
    this.#pumping ??= this.#fetchWhileWanted().finally(() => {
      this.#pumping = null;
      // For a kick or free slot that arrived while the loop was ending.
      if (this.#wanted && !this.#stopping && this.#free() > 0) this.#pump();
    });
  }

  async #fetchWhileWanted(): Promise<void> {
    while (this.#wanted && !this.#stopping) {
      const free = this.#free();
      // The next job to finish pumps again.
      if (free <= 0) return;
      this.#wanted = false;
      let jobs: JobWithMetadata[];
      try {
        jobs = await this.#set.boss.fetch(this.#set.job, { batchSize: free, includeMetadata: true });
      } catch (err) {
        this.#notFetched(err);
        return;
      }
      this.#failures = 0;
      // A full batch means there may be more. Jobs are unordered.
      if (jobs.length === free) this.#wanted = true;
      const inOrder = jobs.toSorted(
        (a, b) => b.priority - a.priority || a.createdOn.getTime() - b.createdOn.getTime(),
      );
      for (const job of inOrder) this.#start(job);
    }
  }

  /** Logged once per series of failures; a kick (from the listener's reconnect) does not wait for the delay. */
  #notFetched(err: unknown): void {
    const { job, logger } = this.#set;
    if (this.#failures === 0)
      logger?.warn('jobs could not be fetched', { queue: job, error: messageOf(err) });
    if (!this.#stopping) this.#kickIn(Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LAST_RETRY_MS));
    this.#failures += 1;
  }

  #start(job: JobWithMetadata): void {
    const abort = new AbortController();
    const attempt = { id: job.id, retryCount: job.retryCount };
    // An expired attempt may still be finishing while the next attempt of the same job runs here.
    const key = `${job.id}:${job.retryCount}`;
    const done = this.#handle(job, attempt, abort).finally(() => {
      this.#running.delete(key);
      if (this.#wanted) this.#pump();
    });
    this.#running.set(key, { attempt, abort, done });
  }

  async #handle(job: JobWithMetadata, attempt: Running['attempt'], abort: AbortController): Promise<void> {
    const { row, handler, logger } = this.#set;
    const expiry = setTimeout(() => {
      abort.abort(new Error('the job expired'));
      logger?.warn('a job expired', { queue: this.#set.job, job_id: job.id, expire_sec: row.expire_sec });
      void this.#fail(attempt, 'the job expired');
    }, row.expire_sec * 1000).unref();
    try {
      const { traceparent, ...data } = job.data as Record<string, unknown>;
      const payload = parseJobPayload(this.#set.job, data);
      let isCompleted = false;
      const completeIn = (tx: Tx): void => {
        writeAtCommit(tx, this.#complete, [attempt]);
        isCompleted = true;
      };
      const context = { signal: abort.signal, job_id: job.id, attempt: job.retryCount + 1, completeIn };
      const parent = typeof traceparent === 'string' ? traceparent : null;
      await traced(`job ${this.#set.job}`, { kind: 'consumer', parent }, async () =>
        handler(payload, context),
      );
      if (!abort.signal.aborted && !isCompleted) this.#completions.add(attempt);
    } catch (err) {
      // An aborted job has already been released; its error is the abort itself.
      if (abort.signal.aborted) return;
      const fields = { queue: this.#set.job, job_id: job.id, attempt: job.retryCount + 1, error: err };
      if (job.retryCount < row.retry_limit) logger?.warn('a job failed and will be retried', fields);
      else logger?.error('a job failed for good', fields);
      await this.#fail(attempt, messageOf(err));
    } finally {
      clearTimeout(expiry);
    }
  }

  async #fail(attempt: Running['attempt'], message: string): Promise<void> {
    const { boss, job, row, logger } = this.#set;
    try {
      await boss.fail(job, [attempt], { message });
    } catch (err) {
      // It will expire.
      logger?.warn('a failed job could not be returned to its queue', {
        queue: job,
        job_id: attempt.id,
        error: messageOf(err),
      });
      return;
    }
    if (attempt.retryCount >= row.retry_limit) return;
    // pg-boss picks a delay between half of the doubled one and all of it.
    const doubling = row.retry_backoff ? 2 ** (attempt.retryCount + 1) : 1;
    const moment = Date.now() + row.retry_delay_sec * doubling * 1000;
    if (this.#stopping) this.#set.tell?.(job, moment);
    else this.kickAt(moment);
  }
}
