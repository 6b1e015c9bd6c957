import { type SecurityEvent, securityEventKinds } from '@acp/contract';
import { listSecurityEvents } from '@acp/core';
import { timeAgo, words } from '../kit/format.ts';
import { html, type Html } from '../kit/html.ts';
import { emptyState, select } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { type Column, moreLink, pageOf, table } from '../kit/table.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const PATH = '/admin/security';
const EXPORT = '/api/instance/security-events/export';

async function logPage({ tx, user, query }: UiContext<'none'>): Promise<Html> {
  const kind = securityEventKinds.find((known) => known === query.kind);
  const filter = kind === undefined ? {} : { kind };
  const { items, next_cursor } = await listSecurityEvents(tx, null, { ...pageOf(query), ...filter });
  const choices = [
    { value: '', label: 'everything' },
    ...securityEventKinds.map((value) => ({ value, label: words(value.replace('.', ' ')) })),
  ];
  const here = kind === undefined ? PATH : `${PATH}?kind=${kind}`;
  const along = kind === undefined ? '' : `&kind=${kind}`;
  const body = html`<form class="card row" method="get" action="${PATH}">
      !${select({ name: 'kind', label: 'Show', value: kind ?? '', choices })}
      <button class="quiet">Show</button>
      <p>
        <a href="${EXPORT}?format=csv!${along}" download>Export as CSV</a> ·
        <a href="${EXPORT}?format=json!${along}" download>as JSON lines</a>
      </p>
    </form>
    !${items.length === 0 ? emptyState('Nothing has happened', html`Sign-ins, refusals and uses of keys are written down here.`) : html`<div class="card">!${table('Security events', columns, items)}!${moreLink(here, next_cursor, 'Older events')}</div>`}`;
  return shell({ title: 'Security', user, company: null, active: PATH, body });
}

const columns: Column<SecurityEvent>[] = [
  { label: 'When', cell: ({ created_at }) => timeAgo(created_at) },
  { label: 'What', cell: ({ kind }) => html`${words(kind.replace('.', ' '))}` },
  { label: 'Who', cell: ({ subject }) => html`${subject}` },
  { label: 'From', cell: ({ address }) => html`${address ?? ''}` },
  {
    label: 'More',
    cell: ({ details }) =>
      html`<span class="soft small"
        >${Object.entries(details)
          .map(([name, value]) => `${words(name)}: ${String(value)}`)
          .join(', ')}</span
      >`,
  },
];

export const adminSecurityRoutes: UiRoute[] = [
  page(PATH, { scope: { by: 'none' }, role: 'instance_admin' }, logPage),
];
