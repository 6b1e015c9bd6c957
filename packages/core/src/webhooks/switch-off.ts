import { schema, type Tx } from '@acp/db';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { changeOfWebhook, hostOf, type WebhookRow } from './present.ts';

const { webhook_deliveries, webhooks } = schema;

/** Fails waiting deliveries; an admin can have them sent again. */
export async function failPending(tx: Tx, webhook_id: string): Promise<void> {
  await tx
    .update(webhook_deliveries)
    .set({ status: 'failed', error: 'the webhook was switched off', finished_at: sql`now()` })
    .where(and(eq(webhook_deliveries.webhook_id, webhook_id), eq(webhook_deliveries.status, 'pending')));
}

/** Disables it until an admin enables it again; the company's admins are notified. */
export async function switchOff(
  tx: Tx,
  { id, company_id, url }: Pick<WebhookRow, 'id' | 'company_id' | 'url'>,
  reason: string,
): Promise<void> {
  await failPending(tx, id);
  await tx
    .update(webhooks)
    .set({
      enabled: false,
      disabled_reason: reason,
      next_attempt_at: null,
      lease_id: null,
      lease_until: null,
      updated_at: sql`now()`,
    })
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
