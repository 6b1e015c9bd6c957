import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/**
 * Deletes wakeups that were consumed or cancelled and are older than `days`; a few of each agent at a time, found through the
 * index. @returns how many, at most `limit`: if fewer, there are no more.
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
