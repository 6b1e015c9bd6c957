import { inOrder, schema, type Tx } from '@acp/db';
import { stated } from '@acp/kernel';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { type Leaving, type LeftCredential, rowsLostBy } from '../companies/index.ts';
import { changeOfWebhook, hostOf, type WebhookRow } from './present.ts';

const { webhook_deliveries, webhooks } = schema;

const OFF = {
  enabled: false,
  next_attempt_at: null,
  lease_id: null,
  lease_until: null,
  updated_at: sql`now()`,
};

/** Fails waiting deliveries; an admin can have them sent again. */
export async function failPending(
  tx: Tx,
  webhook_ids: readonly string[],
  error = stated('the webhook was switched off'),
): Promise<void> {
  await tx
    .update(webhook_deliveries)
    .set({ status: 'failed', error, finished_at: sql`now()` })
    .where(
      and(inArray(webhook_deliveries.webhook_id, [...webhook_ids]), eq(webhook_deliveries.status, 'pending')),
    );
}

/** Disables what someone who may no longer create webhooks set up, or hands it over: deliveries could go to that person. */
export async function settleWebhooksOf(tx: Tx, leaving: Leaving): Promise<LeftCredential[]> {
  const theirs = rowsLostBy(leaving, webhooks, 'admin');
  if (leaving.heir !== undefined) {
    const kept = await tx
      .update(webhooks)
      .set({ created_by_user_id: leaving.heir })
      .where(inOrder(webhooks, theirs))
      .returning();
    return kept.map(leftWebhook);
  }
  const left = await tx
    .update(webhooks)
    .set({ ...OFF, disabled_reason: stated('whoever set it up may no longer do so') })
    .where(inOrder(webhooks, and(theirs, webhooks.enabled)))
    .returning();
  const ids = left.map(({ id }) => id);
  if (ids.length > 0) await failPending(tx, ids);
  return left.map(leftWebhook);
}

const leftWebhook = ({ id, company_id, url }: WebhookRow): LeftCredential => ({
  kind: 'webhook',
  id,
  company_id,
  label: hostOf(url),
});

/** Disables it until an admin enables it again; the company's admins are notified. */
export async function switchOff(
  tx: Tx,
  { id, company_id, url }: Pick<WebhookRow, 'id' | 'company_id' | 'url'>,
  reason: string,
): Promise<void> {
  await failPending(tx, [id]);
  await tx
    .update(webhooks)
    .set({ ...OFF, disabled_reason: reason })
    .where(eq(webhooks.id, id));
  const entity = { entity_type: 'webhook', entity_id: id };
  const message = `The webhook to ${hostOf(url)} was switched off: ${reason}`;
  await recordChanges(tx, systemActor('webhooks'), [
    changeOfWebhook({ id, company_id, url }, 'webhook.switched_off', { reason }),
    {
      company_id,
      ...entity,
      event: { type: 'notification', data: { topic: 'webhook', level: 'error', message, ...entity } },
    },
  ]);
}
