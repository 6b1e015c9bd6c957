/** Looks for lost work of all kinds with one statement, and runs only the sweeps that may find some. */
import { type Sweep, sweeps, waitingSweeps } from '@acp/core';
import { transaction } from '@acp/db';
import type { TimerContext } from './context.ts';
import { FailureStreak } from './failure-streak.ts';

export const LOOK_SEC = 10;
const MAX_BACKOFF_MS = 60_000;

type Context = Pick<TimerContext, 'config' | 'counters' | 'database' | 'logger'>;

interface Row {
  sweep: Sweep;
  failures: FailureStreak;
  due_at: number;
}

/** Each sweep keeps to its own interval, and after failures to longer ones; none delays or stops the others. */
export class LostWork {
  readonly #context: Context;
  readonly #rows: Row[];
  readonly #now: () => number;

  /** @param now milliseconds that only go forward */
  constructor(
    context: Context,
    table: readonly Sweep[] = sweeps,
    now: () => number = () => performance.now(),
  ) {
    this.#now = now;
    this.#context = context;
    this.#rows = table.map((sweep) => ({
      sweep,
      failures: new FailureStreak(sweep.name, context.logger),
      due_at: 0,
    }));
    for (const { name } of table) context.counters.declare(name, null);
  }

  /** Called every `LOOK_SEC`, give or take a tenth. @throws if the database can't be asked */
  async look(signal: AbortSignal): Promise<void> {
    const { database } = this.#context;
    // Half a look early rather than half a look late.
    const now = this.#now() + (LOOK_SEC * 1000) / 2;
    const due = this.#rows.filter(({ due_at }) => due_at <= now);
    const waiting = new Set(
      await waitingSweeps(
        database.db,
        due.map(({ sweep }) => sweep),
      ),
    );
    for (const row of due) {
      row.due_at = this.#now() + row.sweep.interval_sec * 1000;
      if (!waiting.has(row.sweep.name)) row.failures.worked();
    }
    await Promise.all(
      due.filter(({ sweep }) => waiting.has(sweep.name)).map(async (row) => this.#run(row, signal)),
    );
  }

  async #run(row: Row, signal: AbortSignal): Promise<void> {
    const { sweep, failures } = row;
    const intervalMs = sweep.interval_sec * 1000;
    try {
      await this.#context.counters.count(sweep.name, async () => this.#sweep(sweep, signal));
      failures.worked();
    } catch (err) {
      if (signal.aborted) return;
      failures.failed(err);
    }
    row.due_at = this.#now() + failures.pauseMs(intervalMs, MAX_BACKOFF_MS);
  }

  async #sweep({ work, one_by_one }: Sweep, signal: AbortSignal): Promise<void> {
    const { config, database } = this.#context;
    const instance = { has_model: config.default_llm_provider !== null };
    let more: unknown = true;
    while (more === true && !signal.aborted) {
      more = await transaction(database, async (tx) => work(tx, instance));
      if (one_by_one !== true) return;
    }
  }
}
