/** What one background worker (a timer, or the consumer of a queue) has done lately. */
export interface WorkerTicks {
  ticks: number;
  errors: number;
  last_tick_at: Date | null;
  /** Seconds between two ticks; null for a worker that only runs on demand. */
  interval_sec: number | null;
}

interface Count {
  ticks: number;
  errors: number;
}

interface Worker extends Pick<WorkerTicks, 'last_tick_at' | 'interval_sec'> {
  current: Count;
  before: Count;
  /** When `current` began. */
  since: number;
}

/**
 * A period ends after that long, and with enough ticks for a rate; what is reported are the last two. Since the start of a
 * process, a worker that failed from now on would have to fail for as long as it had worked before its rate told.
 */
const PERIOD_MS = 10 * 60_000;
const PERIOD_TICKS = 11;

/** Counted in memory, per process; `snapshot` feeds the report on the scheduler fleet. */
export class TickCounters {
  readonly #workers = new Map<string, Worker>();
  readonly #now: () => number;

  /** @param now milliseconds of a clock that is never set back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Registers a worker up front, so that one that never ticked is visible. */
  declare(name: string, intervalSec: number | null): void {
    this.#workers.set(name, {
      current: { ticks: 0, errors: 0 },
      before: { ticks: 0, errors: 0 },
      since: this.#now(),
      last_tick_at: null,
      interval_sec: intervalSec,
    });
  }

  /** Runs one tick of the worker; counts its error and rethrows it. */
  async count<T>(name: string, work: () => Promise<T>): Promise<T> {
    const worker = this.#workers.get(name);
    if (worker === undefined) throw new Error(`worker ${name} was not declared`);
    const count = this.#countOf(worker);
    count.ticks += 1;
    worker.last_tick_at = new Date();
    try {
      return await work();
    } catch (err) {
      count.errors += 1;
      throw err;
    }
  }

  #countOf(worker: Worker): Count {
    const now = this.#now();
    if (worker.current.ticks >= PERIOD_TICKS && now - worker.since >= PERIOD_MS) {
      worker.before = worker.current;
      worker.current = { ticks: 0, errors: 0 };
      worker.since = now;
    }
    return worker.current;
  }

  snapshot(): Record<string, WorkerTicks> {
    return Object.fromEntries(
      [...this.#workers].map(([name, { current, before, last_tick_at, interval_sec }]) => [
        name,
        {
          ticks: before.ticks + current.ticks,
          errors: before.errors + current.errors,
          last_tick_at,
          interval_sec,
        },
      ]),
    );
  }
}
