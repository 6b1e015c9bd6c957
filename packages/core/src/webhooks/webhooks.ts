import type { Actor, CreateWebhook, NewWebhook, UpdateWebhook, Webhook } from '@acp/contract';
import { byCreation, containing, newestFirst, type Page, schema, type SearchRequest, type Tx } from '@acp/db';
import { newId, newToken, notFound, type Vault } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { answerableUser, findInLiveCompany } from '../companies/index.ts';
import { lastSequence, openCursor } from '../events/index.ts';
import { assertAllowedUrl } from '../providers/index.ts';
import { CURSOR } from './cursor.ts';
import { assertKnownPatterns } from './known-patterns.ts';
import { changeOfWebhook, presentWebhook, type WebhookRow } from './present.ts';
import { failPending } from './switch-off.ts';

const { webhooks } = schema;

/** What the operator lets webhooks reach besides the public internet. */
export interface WebhookRules {
  /** SERVICE_WEBHOOK_ALLOWED_HOSTS: `name` or `name:port`. */
  allowed_hosts: readonly string[];
}

export const place = (id: string) => `webhooks/${id}`;

export async function findWebhook(tx: Tx, id: string): Promise<WebhookRow | undefined> {
  return findInLiveCompany(tx, webhooks, id, isNull(webhooks.issue_id));
}

export async function listWebhooks(tx: Tx, company_id: string, query: SearchRequest): Promise<Page<Webhook>> {
  const page = newestFirst(webhooks.created_at, webhooks.id, query, 50);
  const rows = await tx
    .select()
    .from(webhooks)
    .where(
      and(
        eq(webhooks.company_id, company_id),
        isNull(webhooks.issue_id),
        containing(query.q, [webhooks.url]),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, byCreation, presentWebhook);
}

/** The secret for signing deliveries. @throws unavailable if the key that sealed it is not configured */
export const webhookSecret = (
  vault: Vault,
  { id, secret_sealed }: Pick<WebhookRow, 'id' | 'secret_sealed'>,
) => vault.unseal(secret_sealed, place(id));

/**
 * The secret is only in this response.
 * @throws invalid for a forbidden URL, unavailable without an encryption key, conflict above 50 webhooks
 */
export async function createWebhook(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateWebhook,
  vault: Vault,
  rules: WebhookRules,
): Promise<NewWebhook> {
  const { url, events, secret = newToken() } = input;
  assertKnownPatterns(events);
  assertAllowedUrl(url, { ...rules, variable: 'SERVICE_WEBHOOK_ALLOWED_HOSTS' });
  const id = newId();
  const secret_sealed = vault.seal(secret, place(id));
  await assertRoom(tx, 'webhooks', company_id);
  const created_by_user_id = await answerableUser(tx, actor, company_id, 'admin');
  const from_seq = await listenFromNow(tx);
  const [row] = await tx
    .insert(webhooks)
    .values({ id, company_id, url, events, secret_sealed, created_by_user_id, from_seq })
    .returning();
  await recordChanges(tx, actor, [changeOfWebhook(row!, 'webhook.created', { events })]);
  return { ...presentWebhook(row!), secret };
}

/** Changes a webhook; absent fields stay. @throws like `createWebhook` */
export async function updateWebhook(
  tx: Tx,
  actor: Actor,
  subject: WebhookRow,
  input: UpdateWebhook,
  vault: Vault,
  rules: WebhookRules,
): Promise<Webhook> {
  const { url, events, secret, enabled } = input;
  if (events !== undefined) assertKnownPatterns(events);
  if (url !== undefined) assertAllowedUrl(url, { ...rules, variable: 'SERVICE_WEBHOOK_ALLOWED_HOSTS' });
  // Whoever chooses where it goes, or switches it on again, answers for it.
  const answered =
    url !== undefined || secret !== undefined || enabled === true
      ? await answerableUser(tx, actor, subject.company_id, 'admin')
      : undefined;
  // The cursor is locked before webhooks, here and where deliveries are created.
  const from_seq = enabled === true ? await listenFromNow(tx) : undefined;
  const [before] = await tx.select().from(webhooks).where(eq(webhooks.id, subject.id)).for('no key update');
  if (!before) throw notFound();
  const switched = enabled !== undefined && enabled !== before.enabled;
  if (switched && !enabled) await failPending(tx, [before.id]);
  const [row] = await tx
    .update(webhooks)
    .set({
      url,
      events,
      enabled,
      created_by_user_id: answered,
      secret_sealed: secret === undefined ? undefined : vault.seal(secret, place(before.id)),
      // Whoever holds it has read the former address and secret.
      ...(url !== undefined || secret !== undefined ? { lease_id: null, lease_until: null } : {}),
      ...(switched ? { failures: 0, failing_since: null, disabled_reason: null, next_attempt_at: null } : {}),
      ...(switched && enabled ? { from_seq } : {}),
      updated_at: sql`now()`,
    })
    .where(eq(webhooks.id, before.id))
    .returning();
  const fields = Object.keys(input);
  await recordChanges(tx, actor, [changeOfWebhook(row!, 'webhook.updated', { fields })]);
  return presentWebhook(row!);
}

/** Deletes it for good, with its deliveries. */
export async function deleteWebhook(tx: Tx, actor: Actor, webhook: WebhookRow): Promise<void> {
  const gone = await tx.delete(webhooks).where(eq(webhooks.id, webhook.id)).returning({ id: webhooks.id });
  if (gone.length === 0) throw notFound();
  await recordChanges(tx, actor, [changeOfWebhook(webhook, 'webhook.deleted')]);
}

/** Opens the instance's cursor with the first webhook. @returns the event number after which the webhook's events begin */
export async function listenFromNow(tx: Tx): Promise<number> {
  await openCursor(tx, CURSOR);
  return lastSequence(tx);
}
