import type { Webhook, WebhookDelivery } from '@acp/contract';
import type { schema } from '@acp/db';
import type { Change } from '../activity/index.ts';

export type WebhookRow = typeof schema.webhooks.$inferSelect;
export type DeliveryRow = typeof schema.webhook_deliveries.$inferSelect;

/** Never contains the secret, sealed or not. */
export function presentWebhook(row: WebhookRow): Webhook {
  return {
    id: row.id,
    company_id: row.company_id,
    url: row.url,
    events: row.events as string[],
    enabled: row.enabled,
    disabled_reason: row.disabled_reason,
    created_by_user_id: row.created_by_user_id,
    failing_since: row.failing_since,
    last_delivered_at: row.last_delivered_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

export function presentDelivery(row: Omit<DeliveryRow, 'body'>): WebhookDelivery {
  return {
    id: row.id,
    webhook_id: row.webhook_id,
    event_id: row.event_id,
    event_type: row.event_type,
    status: row.status as WebhookDelivery['status'],
    attempts: row.attempts,
    response_status: row.response_status,
    error: row.error,
    created_at: row.created_at,
    finished_at: row.finished_at,
  };
}

/** Only the host of its URL: receivers' paths and queries may contain tokens. */
export function changeOfWebhook(
  { id, company_id, url }: Pick<WebhookRow, 'id' | 'company_id' | 'url'>,
  action: string,
  details: Record<string, unknown> = {},
): Change {
  return {
    company_id,
    action,
    entity_type: 'webhook',
    entity_id: id,
    details: { host: hostOf(url), ...details },
  };
}

export const hostOf = (url: string): string => new URL(url).host;
