import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { BOSS_SCHEMA } from './boss.ts';

export interface QueueCounts {
  name: string;
  /** Jobs that may be taken now. */
  ready: number;
  active: number;
  /** That failed for good; they are kept for a quarter of an hour. */
  failed: number;
}

/** As the queue's supervision counted them last, within a minute. */
export async function readQueues(tx: Tx): Promise<QueueCounts[]> {
  const { rows } = await tx.execute<{ [K in keyof QueueCounts]: QueueCounts[K] }>(sql`
    select name, ready_count as ready, active_count as active, failed_count as failed
    from ${sql.raw(BOSS_SCHEMA)}.queue order by name`);
  return rows;
}
