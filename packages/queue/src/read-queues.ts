import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { BOSS_SCHEMA } from './boss.ts';

export interface QueueCounts {
  name: string;
  /** Jobs that may be fetched now. */
  ready: number;
  active: number;
  /** Jobs that failed for good; kept for a quarter of an hour. */
  failed: number;
}

/** As last counted by the queue's supervision, at most a minute ago: a select of `QueueCounts`. */
export const queueCounts = sql`
  select name, ready_count as ready, active_count as active, failed_count as failed
  from ${sql.raw(BOSS_SCHEMA)}.queue`;

export async function readQueues(tx: Tx): Promise<QueueCounts[]> {
  const { rows } = await tx.execute<{ [K in keyof QueueCounts]: QueueCounts[K] }>(
    sql`${queueCounts} order by name`,
  );
  return rows;
}
