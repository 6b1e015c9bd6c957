import type { Notification, RecentNotification } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/** The notifications of the last seconds, oldest first, including those not sequenced yet. One statement. */
export async function recentNotifications(tx: Tx, since_sec: number): Promise<RecentNotification[]> {
  const { rows } = await tx.execute<{
    id: string;
    company_id: string | null;
    occurred_at: string;
    data: Notification;
  }>(sql`
    select event_id as id, company_id, occurred_at, data from outbox where type = 'notification'
    union all
    select id, company_id, occurred_at, data from events
    where type = 'notification' and occurred_at > now() - make_interval(secs => ${since_sec})
    order by occurred_at, id`);
  return rows.map(({ id, company_id, occurred_at, data }) => ({
    ...data,
    id,
    company_id,
    occurred_at: new Date(occurred_at),
  }));
}
