/** What an operator or a company admin must attend to, and whether notifications get out. */
import { alertEndpoints as rows } from '@acp/contract';
import { lastSequence, listAlerts, listOutgoing, userNames } from '@acp/core';
import { companyPage } from '../kit/company-frame.ts';
import type { Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { shell } from '../kit/shell.ts';
import { pageOf } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { alertsBody, alertsPart, type AlertsView, channelsPart, messagesPart, PATH } from './alert-pages.ts';

const instance = { scope: { by: 'none' }, role: 'instance_admin' } as const;
const ofCompany = { scope: { by: 'company', param: 'companyId' }, role: 'admin' } as const;

const pathOf = (company_id: string): string => `/companies/${company_id}/alerts`;

async function viewOf({ tx, query }: UiContext, company_id: string | null): Promise<AlertsView> {
  const past = query.status === 'resolved';
  const filter = { ...pageOf(query), status: past ? ('resolved' as const) : ('firing' as const) };
  const { items, next_cursor } = await listAlerts(tx, company_id, filter);
  const names = await userNames(
    tx,
    items.map(({ acknowledged_by_user_id }) => acknowledged_by_user_id),
  );
  return {
    path: company_id === null ? PATH : pathOf(company_id),
    acts: company_id === null ? PATH : '/alerts',
    past,
    query,
    alerts: items,
    next_cursor,
    names,
  };
}

const messagesOf = async ({ tx }: UiContext<'none'>) => (await listOutgoing(tx, { limit: 20 })).items;

async function instancePage(context: UiContext<'none'>, error: string | null = null): Promise<Html> {
  const { tx, user, query, services } = context;
  const cursor = await lastSequence(tx);
  const view = await viewOf(context, null);
  const messages = await messagesOf(context);
  const body = alertsBody(view, { error, done: query.done }, channelsPart(services.alert_targets, messages));
  return shell({ title: t`Alerts`, user, company: null, active: PATH, cursor, body });
}

async function companyAlerts(context: UiContext<'company'>, error: string | null = null): Promise<Html> {
  const { company_id, query } = context;
  const view = await viewOf(context, company_id);
  const body = alertsBody(view, { error, done: query.done }, '');
  return companyPage(context, { title: t`Alerts`, active: view.path, body });
}

/** Shows the list again, with the error: the action concerns a single alert, which has no page. */
const again = async (c: UiContext<'alert'>, error: string): Promise<Html> =>
  companyAlerts({ ...c, subject: undefined }, error);

export const alertRoutes: UiRoute[] = [
  page(PATH, instance, (c) => instancePage(c)),
  page(`${PATH}/part/list`, instance, async (c) => alertsPart(await viewOf(c, null))),
  page(`${PATH}/part/messages`, instance, async (c) => messagesPart(await messagesOf(c))),
  action(`${PATH}/test`, rows.test, { next: () => `${PATH}?done=test`, failed: instancePage }),
  action(`${PATH}/{alertId}/acknowledge`, rows.acknowledgeAny, {
    next: () => `${PATH}?done=acknowledged`,
    failed: instancePage,
  }),
  action(`${PATH}/{alertId}/mute`, rows.muteAny, {
    read: (form) => ({ hours: form.number('hours') }),
    next: (_, { muted_until }) => `${PATH}?done=${muted_until === null ? 'heard' : 'muted'}`,
    failed: instancePage,
  }),
  page('/companies/{companyId}/alerts', ofCompany, (c) => companyAlerts(c)),
  page('/companies/{companyId}/alerts/part/list', ofCompany, async (c) =>
    alertsPart(await viewOf(c, c.company_id)),
  ),
  action('/alerts/{alertId}/acknowledge', rows.acknowledge, {
    next: (c) => `${pathOf(c.company_id)}?done=acknowledged`,
    failed: again,
  }),
  action('/alerts/{alertId}/mute', rows.mute, {
    read: (form) => ({ hours: form.number('hours') }),
    next: (c, { muted_until }) => `${pathOf(c.company_id)}?done=${muted_until === null ? 'heard' : 'muted'}`,
    failed: again,
  }),
];
