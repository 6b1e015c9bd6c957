import type { Tx } from '@acp/db';
import type { SQL } from 'drizzle-orm';

export interface Sweep {
  name: string;
  /** A multiple of ten seconds, which is how often a scheduler looks. */
  interval_sec: number;
  /**
   * A select that has rows whenever `work` would find something, and possibly at other times. It must be cheap: what it reads is
   * in a partial index of what is in progress, or little.
   */
  waiting: SQL;
  /** In a transaction of its own, safe on several schedulers at the same time. */
  work: (tx: Tx, instance: { has_model: boolean }) => Promise<unknown>;
  /** `work` does one thing and returns whether there was one: it is repeated until there is none. */
  one_by_one?: boolean;
}
