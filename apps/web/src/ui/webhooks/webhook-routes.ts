import { webhookEndpoints as rows } from '@acp/contract';
import { findWebhook, listDeliveries, listWebhooks, presentWebhook } from '@acp/core';
import { notFound } from '@acp/kernel';
import { namesOfAnswerers } from '../kit/answered-by.ts';
import { asShown } from '../kit/as-shown.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { emptyState, formError, formLink, notice, shownOnce } from '../kit/parts.ts';
import { moreLink, pageOf, samePage, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import {
  deliveryColumns,
  webhookColumns,
  webhookDeletion,
  webhookForm,
  webhookSwitch,
} from './webhook-pages.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byWebhook = { by: 'webhook', param: 'webhookId' } as const;

const listPath = (company_id: string): string => `/companies/${company_id}/webhooks`;

const done: Record<string, string> = texts({
  saved: 'Saved.',
  queued: 'It is being sent again.',
  deleted: 'The webhook has been deleted.',
});

async function webhooksPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
  secret: string | null = null,
): Promise<Html> {
  const { tx, company_id, query } = context;
  const { items, next_cursor } = await listWebhooks(tx, company_id, searchOf(query));
  const names = await namesOfAnswerers(tx, items);
  const path = listPath(company_id);
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Webhooks', webhookColumns(names), items)}!${moreLink(searched(path, query), next_cursor, 'Older webhooks')}
        </div>`
      : nothingListed(path, query, () =>
          emptyState('No webhooks yet', html`The company’s events can be sent, signed, to a URL of yours.`),
        );
  const body = html`!${when(secret, (value) => shownOnce('The secret used for signing deliveries, shown only once:', value))}
  !${notice(done[query.done ?? ''])}!${searchedList(path, query, { items, next_cursor }, list)}!${webhookForm(path, null, error, form)}`;
  const actions = items.length > 0 ? formLink(t`New webhook`, 'url') : '';
  return companyPage(context, { title: t`Webhooks`, active: path, actions, body });
}

/** Events that most webhooks are sent: each may bring a delivery, whose outcome the part then asks for. */
const TOPICS = 'issues comments runs agents approvals';

/** What comes of it, and whether the service has switched it off for that. */
async function deliveriesPart({ tx, query, subject }: UiContext<'webhook'>): Promise<Html> {
  const { items, next_cursor } = await listDeliveries(tx, subject, pageOf(query));
  const list =
    items.length === 0
      ? html`<p class="soft">Nothing sent yet.</p>`
      : html`!${table('Deliveries', deliveryColumns(subject.enabled), items)}!${moreLink(`/webhooks/${subject.id}`, next_cursor, 'Older deliveries')}`;
  return html`<section class="card">
      <h2>Deliveries</h2>
      !${list}
    </section>
    !${webhookSwitch(presentWebhook(subject))}`;
}

async function webhookPage(
  context: UiContext<'webhook'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { company_id, query, subject } = context;
  const webhook = presentWebhook(subject);
  const path = listPath(company_id);
  const own = `/webhooks/${webhook.id}`;
  return companyPage(context, {
    title: new URL(webhook.url).host,
    active: path,
    trail: [{ label: t`Webhooks`, path }],
    body: html`!${notice(done[query.done ?? ''])}!${await asShown(webhookForm(own, webhook, error, form), form)}
      <div
        class="stack"
        data-live="${TOPICS}"
        data-source="${samePage(`${own}/part/deliveries`, query)}"
        data-fresh
      >
        !${await deliveriesPart(context)}
      </div>
      !${webhookDeletion(webhook)}`,
  });
}

const readWebhook = (form: FormValues) => ({
  url: form.sent('url')?.trim(),
  events: form
    .sent('events')
    ?.split(',')
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== ''),
  secret: form.given('secret')?.trim(),
});

/** A delivery has no page of its own: shows the error with a link to its webhook. */
async function redeliveryFailed(context: UiContext<'webhook_delivery'>, error: string): Promise<Html> {
  const subject = await findWebhook(context.tx, context.subject.webhook_id);
  if (!subject) throw notFound();
  const active = listPath(context.company_id);
  const trail = [{ label: t`Webhooks`, path: active }];
  const body = html`!${formError(error)}
    <p><a href="/webhooks/${subject.id}">Back to the webhook</a></p>`;
  return companyPage(context, { title: t`Not delivered`, active, trail, body });
}

export const webhookRoutes: UiRoute[] = [
  page('/companies/{companyId}/webhooks', { scope: byCompany, role: 'admin' }, (c) => webhooksPage(c)),
  action('/companies/{companyId}/webhooks', rows.create, {
    read: readWebhook,
    secrets: ['secret'],
    // The secret is shown only in this response.
    next: (c, { secret }) => webhooksPage(c, null, null, secret),
    failed: webhooksPage,
  }),
  page('/webhooks/{webhookId}', { scope: byWebhook, role: 'admin' }, (c) => webhookPage(c)),
  page('/webhooks/{webhookId}/part/deliveries', { scope: byWebhook, role: 'admin' }, deliveriesPart),
  action('/webhooks/{webhookId}', rows.update, {
    read: readWebhook,
    edits: (c) => webhookPage(c),
    secrets: ['secret'],
    next: (c) => `/webhooks/${c.subject.id}?done=saved`,
    failed: webhookPage,
  }),
  action('/webhooks/{webhookId}/enabled', rows.update, {
    read: (form) => ({ enabled: form.checked('enabled') }),
    next: (c) => `/webhooks/${c.subject.id}?done=saved`,
    failed: webhookPage,
  }),
  action('/webhooks/{webhookId}/delete', rows.delete, {
    next: (c) => `${listPath(c.company_id)}?done=deleted`,
    failed: webhookPage,
  }),
  action('/webhook-deliveries/{deliveryId}/redeliver', rows.redeliver, {
    next: (c) => `/webhooks/${c.subject.webhook_id}?done=queued`,
    failed: redeliveryFailed,
  }),
];
