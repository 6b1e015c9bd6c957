import type { Actor, PushDelivery, WebhookDelivery } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { conflict, isUuid, notFound } from '@acp/kernel';
import { and, eq, getTableColumns, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { ofLiveCompany } from '../companies/index.ts';
import { TASK } from './fan-out.ts';
import { changeOfWebhook, type DeliveryRow, hostOf, presentDelivery, type WebhookRow } from './present.ts';

const { companies, webhook_deliveries, webhooks } = schema;

// Bodies are left out, since they would make lists large.
const { body: _, ...shown } = getTableColumns(webhook_deliveries);

/** Loads a delivery for its scope. */
export async function findDelivery(tx: Tx, id: string): Promise<Omit<DeliveryRow, 'body'> | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(shown)
    .from(webhook_deliveries)
    .innerJoin(companies, ofLiveCompany(webhook_deliveries.company_id))
    .where(eq(webhook_deliveries.id, id));
  return row;
}

export async function listDeliveries(
  tx: Tx,
  { id }: Pick<WebhookRow, 'id'>,
  query: PageRequest,
): Promise<Page<WebhookDelivery>> {
  const page = newestFirst(webhook_deliveries.created_at, webhook_deliveries.id, query, 50);
  const rows = await tx
    .select(shown)
    .from(webhook_deliveries)
    .where(and(eq(webhook_deliveries.webhook_id, id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, (row) => ({ at: row.created_at, id: row.id }), presentDelivery);
}

/** Push notifications of tasks, newest first. */
export async function listPushDeliveries(
  tx: Tx,
  company_id: string,
  query: PageRequest & { status?: PushDelivery['status'] | undefined },
): Promise<Page<PushDelivery>> {
  const page = newestFirst(webhook_deliveries.created_at, webhook_deliveries.id, query, 50);
  const { status } = query;
  const rows = await tx
    .select({
      ...shown,
      issue_id: webhooks.issue_id,
      config_id: webhooks.config_id,
      url: webhooks.url,
      enabled: webhooks.enabled,
    })
    .from(webhook_deliveries)
    .innerJoin(webhooks, eq(webhooks.id, webhook_deliveries.webhook_id))
    .where(
      and(
        eq(webhook_deliveries.company_id, company_id),
        sql`${webhook_deliveries.event_type} = ${sql.raw(`'${TASK}'`)}`,
        status && eq(webhook_deliveries.status, status),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(
    rows,
    (row) => ({ at: row.created_at, id: row.id }),
    (row) => ({
      id: row.id,
      issue_id: row.issue_id ?? '',
      config_id: row.config_id ?? '',
      host: hostOf(row.url),
      enabled: row.enabled,
      status: row.status as PushDelivery['status'],
      attempts: row.attempts,
      response_status: row.response_status,
      error: row.error,
      created_at: row.created_at,
      finished_at: row.finished_at,
    }),
  );
}

/**
 * Sends it again immediately, whatever its outcome, with another day of attempts. For a task this re-enables its webhook, which no
 * one in the company could do otherwise. @throws conflict if the webhook is disabled
 */
export async function redeliver(
  tx: Tx,
  actor: Actor,
  delivery: Pick<DeliveryRow, 'id' | 'webhook_id'>,
): Promise<WebhookDelivery> {
  const [webhook] = await tx
    .update(webhooks)
    .set({
      next_attempt_at: sql`case when enabled or issue_id is not null then now() end`,
      enabled: sql`enabled or issue_id is not null`,
      failing_since: sql`case when issue_id is null then failing_since end`,
    })
    .where(eq(webhooks.id, delivery.webhook_id))
    .returning();
  if (!webhook) throw notFound();
  if (!webhook.enabled) throw conflict('the webhook is switched off');
  const [row] = await tx
    .update(webhook_deliveries)
    .set({ status: 'pending', attempts: 0, error: null, queued_at: sql`now()`, finished_at: null })
    .where(eq(webhook_deliveries.id, delivery.id))
    .returning(shown);
  if (!row) throw notFound();
  await recordChanges(tx, actor, [changeOfWebhook(webhook, 'webhook.redelivered', { delivery_id: row.id })]);
  return presentDelivery(row);
}
