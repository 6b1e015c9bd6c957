/** Outbound webhooks (decisions 10.17): a company's events, sent to its integrations. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { EventPattern } from './event-patterns.ts';
import { AnsweredBy, Nullable, OneOf, PageQuery, Patch, SearchQuery, Timestamp, Uuid } from './schema-kit.ts';

export const Webhook = Type.Object({
  id: Uuid,
  company_id: Uuid,
  url: Type.String(),
  /** Patterns for dotted event types: `issue.*`, `*.created`, `*`. */
  events: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  /** Why the service disabled it; null if it did not. */
  disabled_reason: Nullable(Type.String()),
  created_by_user_id: AnsweredBy,
  /** Since when no delivery has succeeded; null if all is well. */
  failing_since: Nullable(Timestamp),
  last_delivered_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Webhook = Static<typeof Webhook>;

/** The response to creating a webhook, and the only one that contains the secret. */
export const NewWebhook = Type.Object({ ...Webhook.properties, secret: Type.String() });
export type NewWebhook = Static<typeof NewWebhook>;

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;

export const WebhookDelivery = Type.Object({
  id: Uuid,
  webhook_id: Uuid,
  /** Identical in all deliveries of an event. */
  event_id: Uuid,
  event_type: Type.String(),
  status: OneOf(deliveryStatuses),
  attempts: Type.Integer(),
  /** Status of the last attempt; null if there was no response. */
  response_status: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  created_at: Timestamp,
  finished_at: Nullable(Timestamp),
});
export type WebhookDelivery = Static<typeof WebhookDelivery>;

const url = Type.String({ minLength: 1, maxLength: 2000 });
const events = Type.Array(EventPattern, { minItems: 1, maxItems: 50 });
const secret = Type.String({ minLength: 16, maxLength: 200, pattern: '^[\\x21-\\x7e]+$' });

/** Without a `secret`, one is generated. */
export const CreateWebhook = Type.Object({ url, events, secret: Type.Optional(secret) });
export type CreateWebhook = Static<typeof CreateWebhook>;
export const UpdateWebhook = Patch({ url, events, secret, enabled: Type.Boolean() });
export type UpdateWebhook = Static<typeof UpdateWebhook>;

const ofCompany = {
  path: '/api/companies/{companyId}/webhooks',
  auth: BEARER,
  role: 'admin',
  scope: { by: 'company', param: 'companyId' },
} as const;
const one = {
  path: '/api/webhooks/{webhookId}',
  auth: BEARER,
  role: 'admin',
  scope: { by: 'webhook', param: 'webhookId' },
} as const;

export const webhookEndpoints = {
  list: endpoint({
    ...ofCompany,
    id: 'webhooks.list',
    method: 'GET',
    query: Type.Object(SearchQuery),
    response: Type.Array(Webhook),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Outbound webhooks of the company, newest first; without secrets.',
  }),
  create: endpoint({
    ...ofCompany,
    id: 'webhooks.create',
    method: 'POST',
    body: CreateWebhook,
    response: NewWebhook,
    status: 201,
    tx: 'write',
    issues_secret: 'secret',
    example: { url: 'https://example.com/hook', events: ['issue.*'] },
    doc: 'Sends events that match one of the patterns to the URL, from now on. The secret is shown only once; 503 if SERVICE_ENCRYPTION_KEY is not set.',
  }),
  update: endpoint({
    ...one,
    id: 'webhooks.update',
    method: 'PATCH',
    body: UpdateWebhook,
    response: Webhook,
    status: 200,
    tx: 'write',
    example: { enabled: true },
    doc: 'Changes a webhook. One that is enabled again receives events from that point on.',
  }),
  delete: endpoint({
    ...one,
    id: 'webhooks.delete',
    method: 'DELETE',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Deletes a webhook permanently, with its deliveries.',
  }),
  listDeliveries: endpoint({
    ...one,
    path: '/api/webhooks/{webhookId}/deliveries',
    id: 'webhooks.list-deliveries',
    method: 'GET',
    query: Type.Object(PageQuery),
    response: Type.Array(WebhookDelivery),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Sent and waiting deliveries, newest first; kept as long as events.',
  }),
  redeliver: endpoint({
    id: 'webhooks.redeliver',
    method: 'POST',
    path: '/api/webhook-deliveries/{deliveryId}/redeliver',
    auth: BEARER,
    role: 'admin',
    scope: { by: 'webhook_delivery', param: 'deliveryId' },
    response: WebhookDelivery,
    status: 200,
    tx: 'write',
    doc: 'Sends it again immediately. 409 while the webhook is disabled.',
  }),
};
