import { type PushDelivery, pushEndpoints as pushes, webhookEndpoints } from '@acp/contract';
import { listPushDeliveries } from '@acp/core';
import { companyPage } from '../kit/company-frame.ts';
import { timeAgo } from '../kit/format.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { listAfter, listFields } from '../kit/list-search.ts';
import { emptyState, formError, notice, postButton, status, tabs } from '../kit/parts.ts';
import { type Column, moreLink, pageOf, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const peersPath = (company_id: string): string => `/companies/${company_id}/peers`;
const ownPath = (company_id: string): string => `/companies/${company_id}/push-deliveries`;

const listOf = (company_id: string, only: string | undefined): string =>
  only === 'failed' ? `${ownPath(company_id)}?status=failed` : ownPath(company_id);

/** Tabs: the peers, and the push notifications that other agents requested for their tasks here. */
export const peerTabs = (company_id: string, active: string): Html =>
  tabs(
    'Peers',
    [
      { label: t`Peers`, path: peersPath(company_id) },
      { label: t`Push notifications`, path: ownPath(company_id) },
    ],
    active,
  );

const columnsOf = (fields: Record<string, string>): Column<PushDelivery>[] => [
  { label: 'Task', cell: ({ issue_id, config_id }) => html`<a href="/issues/${issue_id}">${config_id}</a>` },
  { label: 'To', cell: ({ host }) => html`<code>${host}</code>` },
  { label: 'State', cell: (delivery) => status(delivery.status) },
  { label: 'Attempts', kind: 'number', cell: ({ attempts }) => html`${attempts}` },
  { label: 'What came of it', cell: ({ error, response_status }) => html`${error ?? response_status ?? ''}` },
  { label: 'Made', cell: ({ created_at }) => timeAgo(created_at) },
  {
    label: 'Retry',
    kind: 'acts',
    cell: ({ id }) =>
      postButton(`/push-deliveries/${id}/redeliver`, 'Send again', { class: 'quiet small', fields }),
  },
];

async function pushesPage(context: UiContext, error: string | null = null): Promise<Html> {
  context.services.instance.requireFeature(pushes.listDeliveries);
  const { tx, company_id, query } = context;
  const failed = query.status === 'failed';
  const path = ownPath(company_id);
  const { items, next_cursor } = await listPushDeliveries(tx, company_id, {
    ...pageOf(query),
    ...(failed && { status: 'failed' as const }),
  });
  const own = listOf(company_id, query.status);
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Push notifications', columnsOf(listFields(query, 'status')), items)}!${moreLink(own, next_cursor, 'Older ones')}
        </div>`
      : emptyState(
          failed ? 'None failed' : 'Nothing sent yet',
          html`Clients of the agent-to-agent protocol may ask to be notified when their task changes.`,
        );
  const filter = failed
    ? html`<p><a href="${path}">All of them</a></p>`
    : html`<p><a href="${path}?status=failed">Only failed ones</a></p>`;
  return companyPage(context, {
    title: t`Push notifications`,
    active: peersPath(company_id),
    trail: [{ label: t`Peers`, path: peersPath(company_id) }],
    body: html`!${peerTabs(company_id, path)}!${notice(query.done === 'queued' ? 'It is being sent again.' : null)}!${formError(error)}!${filter}!${list}`,
  });
}

export const pushRoutes: UiRoute[] = [
  page('/companies/{companyId}/push-deliveries', { scope: byCompany, role: 'admin' }, (c) => pushesPage(c)),
  action('/push-deliveries/{deliveryId}/redeliver', webhookEndpoints.redeliver, {
    next: (c, _, form) => listAfter(listOf(c.company_id, form.text('status')), form, 'queued'),
    failed: pushesPage,
  }),
];
