/** The security log: the instance's, and the part about one company's keys. */
import { type SecurityEvent, securityEventKinds } from '@acp/contract';
import { listSecurityEvents } from '@acp/core';
import { companyPage } from '../kit/company-frame.ts';
import { exactTime, words } from '../kit/format.ts';
import { html, type Html } from '../kit/html.ts';
import { say, t } from '../kit/language.ts';
import { emptyState, select } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { type Column, moreLink, pageOf, table } from '../kit/table.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const INSTANCE = '/admin/security';

async function instanceLog(context: UiContext<'none'>): Promise<Html> {
  const body = await logOf(context, null, INSTANCE, '/api/instance/security-events/export');
  return shell({ title: t`Security`, user: context.user, company: null, active: INSTANCE, body });
}

async function companyLog(context: UiContext<'company'>): Promise<Html> {
  const { company_id } = context;
  const settings = `/companies/${company_id}/settings`;
  const download = `/api/companies/${company_id}/security-events/export`;
  const log = await logOf(context, company_id, `${settings}/security`, download);
  const trail = [{ label: t`Settings`, path: settings }];
  const body = html`<p>
      What was refused in the company, and what happened to the keys of agents and integrations: uses from new
      addresses, keys that end.
    </p>
    !${log}`;
  return companyPage(context, { title: t`Security`, trail, active: settings, body });
}

/** @param company_id null: the whole instance. @param download path of the log as a file */
async function logOf(
  { tx, query }: UiContext,
  company_id: string | null,
  path: string,
  download: string,
): Promise<Html> {
  const kind = securityEventKinds.find((known) => known === query.kind);
  const filter = kind === undefined ? {} : { kind };
  const { items, next_cursor } = await listSecurityEvents(tx, company_id, { ...pageOf(query), ...filter });
  const choices = [
    { value: '', label: t`everything` },
    ...securityEventKinds.map((value) => ({ value, label: kindInWords(value) })),
  ];
  const here = kind === undefined ? path : `${path}?kind=${kind}`;
  const along = kind === undefined ? '' : `&kind=${kind}`;
  return html`<form class="filters row" method="get" action="${path}" data-autosubmit>
      !${select({ name: 'kind', label: 'Show', value: kind ?? '', choices })}
      <button class="quiet">Show</button>
      <p class="clear">
        <a href="${`${download}?format=csv${along}`}" download>Export as CSV</a> ·
        <a href="${`${download}?format=json${along}`}" download>as JSON lines</a>
      </p>
    </form>
    !${
      items.length === 0
        ? emptyState('No activity', html`Refusals and uses from new addresses are listed here.`)
        : html`<div class="card">
            !${table('Security events', columns, items)}!${moreLink(here, next_cursor, 'Older events')}
          </div>`
    }`;
}

const kindInWords = (kind: string): string => words(kind.replace('.', ' '));

/** Details that are one of a few words, and not what somebody has named. */
const worded: readonly string[] = ['method', 'factor', 'kind', 'sessions'];

function saidOf(name: string, value: string): string {
  if (worded.includes(name)) return words(value);
  return name === 'reason' ? say(value) : value;
}

const columns: Column<SecurityEvent>[] = [
  { label: 'When', cell: ({ created_at }) => exactTime(created_at) },
  { label: 'What', cell: ({ kind }) => html`${kindInWords(kind)}` },
  { label: 'Who', cell: ({ subject }) => html`${subject}` },
  { label: 'From', cell: ({ address }) => html`${address ?? ''}` },
  {
    label: 'More',
    cell: ({ details }) =>
      html`<span class="soft small"
        >${Object.entries(details)
          .map(([name, value]) => `${words(name)}: ${saidOf(name, String(value))}`)
          .join(', ')}</span
      >`,
  },
];

export const securityLogRoutes: UiRoute[] = [
  page(INSTANCE, { scope: { by: 'none' }, role: 'instance_admin' }, instanceLog),
  page(
    '/companies/{companyId}/settings/security',
    { scope: { by: 'company', param: 'companyId' }, role: 'admin' },
    companyLog,
  ),
];
