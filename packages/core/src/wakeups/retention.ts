import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/**
 * Forgets wakeups that were consumed or called off, and asked for more than `days` ago; some of each agent at a time, whose oldest
 * ones the index finds. @returns how many, at most `limit`: where it is fewer, there are no more.
 */
export async function deleteWakeupsBefore(tx: Tx, days: number, limit: number): Promise<number> {
  const result = await tx.execute(sql`
    delete from wakeup_requests where id in (
      select w.id from agents a cross join lateral (
        select w.id from wakeup_requests w
        where w.agent_id = a.id and w.created_at < now() - make_interval(days => ${days}) and w.status <> 'pending'
        order by w.created_at, w.id limit ${limit}
      ) w limit ${limit})`);
  return result.rowCount ?? 0;
}
