import { schema, storedNow, type Tx } from '@acp/db';
import { and, eq, sql } from 'drizzle-orm';
import type { WebhookRow } from './present.ts';

const { webhook_deliveries, webhooks } = schema;

/** A webhook claimed by one process, for the duration of its lease. */
export interface ClaimedWebhook extends Pick<
  WebhookRow,
  'id' | 'company_id' | 'url' | 'secret_sealed' | 'issue_id' | 'key_id' | 'dialect'
> {
  lease_id: string;
}

export interface PendingDelivery {
  id: string;
  event_type: string;
  body: string;
}

/**
 * Claims webhooks whose next attempt is due, longest waiting first. Those of a trashed company are checked again in an hour, as it
 * may be restored.
 * @param except companies that have enough in progress
 */
export async function claimWebhooks(
  tx: Tx,
  limit: number,
  lease_sec: number,
  except: readonly string[] = [],
): Promise<ClaimedWebhook[]> {
  const { rows } = await tx.execute<{ [K in keyof ClaimedWebhook]: ClaimedWebhook[K] }>(sql`
    with due as materialized (
      select w.id, c.deleted_at is null as alive from webhooks w join companies c on c.id = w.company_id
      where w.enabled and w.next_attempt_at is not null and w.next_attempt_at <= ${storedNow}
        and (w.lease_until is null or w.lease_until < now())
        and w.company_id <> all(${sql.param(except)}::uuid[])
      order by w.next_attempt_at limit ${limit}
      for no key update of w skip locked
    ), put_off as (
      update webhooks set next_attempt_at = now() + interval '1 hour'
      from due where webhooks.id = due.id and not due.alive
    )
    update webhooks set lease_id = gen_random_uuid(), lease_until = now() + make_interval(secs => ${lease_sec})
    from due where webhooks.id = due.id and due.alive
    returning webhooks.id, webhooks.company_id, webhooks.url, webhooks.secret_sealed,
      webhooks.issue_id, webhooks.key_id, webhooks.dialect, webhooks.lease_id`);
  return rows;
}

/**
 * The next delivery in order, renewing the lease.
 * @returns null if nothing is waiting, undefined if the lease is lost
 */
export async function nextDelivery(
  tx: Tx,
  { id, lease_id }: ClaimedWebhook,
  lease_sec: number,
): Promise<PendingDelivery | null | undefined> {
  const { rows } = await tx.execute<{ id: string | null; event_type: string; body: string }>(sql`
    with held as (
      update webhooks set lease_until = now() + make_interval(secs => ${lease_sec})
      where id = ${id} and lease_id = ${lease_id} and enabled returning id
    )
    select d.id, d.event_type, d.body from held left join lateral (
      select * from webhook_deliveries where webhook_id = held.id and status = 'pending' order by seq limit 1
    ) d on true`);
  const [row] = rows;
  if (row === undefined) return undefined;
  return row.id === null ? null : { ...row, id: row.id };
}

/** Releases it, in a transaction: if something is waiting it is due immediately, otherwise it sleeps until the next event. */
export async function releaseWebhook(tx: Tx, { id, lease_id }: ClaimedWebhook): Promise<void> {
  // Locked first: the next statement then sees everything created before it sleeps.
  const held = await tx
    .select({ id: webhooks.id })
    .from(webhooks)
    .where(and(eq(webhooks.id, id), eq(webhooks.lease_id, lease_id)))
    .for('no key update');
  if (held.length === 0) return;
  const waiting = await tx
    .select({ id: webhook_deliveries.id })
    .from(webhook_deliveries)
    .where(and(eq(webhook_deliveries.webhook_id, id), eq(webhook_deliveries.status, 'pending')))
    .limit(1);
  await tx
    .update(webhooks)
    .set({ lease_id: null, lease_until: null, next_attempt_at: waiting.length > 0 ? sql`now()` : null })
    .where(eq(webhooks.id, id));
}
