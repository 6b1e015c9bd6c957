/** What one background worker (a timer, or the consumer of a queue) has done since the process started. */
export interface WorkerTicks {
  ticks: number;
  errors: number;
  last_tick_at: Date | null;
  /** Seconds between two ticks; null for a worker that only runs on demand. */
  interval_sec: number | null;
}

/** Counted in memory, per process; `snapshot` feeds the report on the scheduler fleet. */
export class TickCounters {
  readonly #workers = new Map<string, WorkerTicks>();

  /** Registers a worker up front, so that one that never ticked is visible. */
  declare(name: string, intervalSec: number | null): void {
    this.#workers.set(name, { ticks: 0, errors: 0, last_tick_at: null, interval_sec: intervalSec });
  }

  /** Runs one tick of the worker; counts its error and rethrows it. */
  async count<T>(name: string, work: () => Promise<T>): Promise<T> {
    const worker = this.#workers.get(name);
    if (worker === undefined) throw new Error(`worker ${name} was not declared`);
    worker.ticks += 1;
    worker.last_tick_at = new Date();
    try {
      return await work();
    } catch (err) {
      worker.errors += 1;
      throw err;
    }
  }

  snapshot(): Record<string, WorkerTicks> {
    return Object.fromEntries([...this.#workers].map(([name, worker]) => [name, { ...worker }]));
  }
}
