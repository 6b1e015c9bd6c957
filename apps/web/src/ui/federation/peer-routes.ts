import { federationEndpoints as rows } from '@acp/contract';
import { listPeers, presentPeer } from '@acp/core';
import { asShown } from '../kit/as-shown.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { emptyState, formLink, notice } from '../kit/parts.ts';
import { moreLink, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { peerTabs } from './push-routes.ts';
import { peerFrame, peerRecordRoutes } from './peer-records.ts';
import { deletePeerPart, healthPart, peerColumns, peerForm } from './peer-pages.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byPeer = { by: 'peer', param: 'peerId' } as const;

const listPath = (company_id: string): string => `/companies/${company_id}/peers`;

const done: Record<string, string> = texts({
  added: 'The peer has been added. Its card is fetched within seconds.',
  saved: 'Saved.',
  fetched: 'The card is being fetched.',
  deleted: 'The peer has been deleted.',
});

async function peersPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, company_id, query } = context;
  const { items, next_cursor } = await listPeers(tx, company_id, searchOf(query));
  const path = listPath(company_id);
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Peers', peerColumns, items)}!${moreLink(searched(path, query), next_cursor, 'Older peers')}
        </div>`
      : nothingListed(path, query, () =>
          emptyState(
            'No peers yet',
            html`Work can be delegated to agents of other companies and systems, over the agent-to-agent
            protocol.`,
          ),
        );
  const body = html`!${peerTabs(company_id, path)}!${notice(done[query.done ?? ''])}!${searchedList(path, query, { items, next_cursor }, list)}!${peerForm(path, null, error, form)}`;
  const actions = items.length > 0 ? formLink(t`New peer`, 'label') : '';
  return companyPage(context, { title: t`Peers`, active: path, actions, body });
}

const partOf = ({ subject }: UiContext<'peer'>): Html =>
  healthPart(presentPeer(subject), subject.enabled && subject.next_refresh_at.getTime() <= Date.now());

async function peerPage(
  context: UiContext<'peer'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const peer = presentPeer(context.subject);
  return peerFrame(
    context,
    '',
    html`!${notice(done[context.query.done ?? ''])}
      <div data-source="/peers/${peer.id}/part/health">!${partOf(context)}</div>
      !${await asShown(peerForm(`/peers/${peer.id}`, peer, error, form), form)}!${deletePeerPart(peer)}`,
  );
}

/** An empty key leaves the stored one unchanged. */
const readPeer = (form: FormValues) => ({
  label: form.sent('label')?.trim(),
  url: form.sent('url')?.trim(),
  api_key: form.given('api_key')?.trim(),
  timeout_seconds: form.number('timeout_seconds'),
  rate_limit_rpm: form.number('rate_limit_rpm'),
  refresh_interval_seconds: form.number('refresh_interval_seconds'),
  local_preference_bias: form.number('local_preference_bias'),
});

export const peerRoutes: UiRoute[] = [
  page('/companies/{companyId}/peers', { scope: byCompany, role: 'admin' }, (c) => peersPage(c)),
  action('/companies/{companyId}/peers', rows.create, {
    read: readPeer,
    secrets: ['api_key'],
    next: (_, { id }) => `/peers/${id}?done=added`,
    failed: peersPage,
  }),
  page('/peers/{peerId}', { scope: byPeer, role: 'admin' }, (c) => peerPage(c)),
  page('/peers/{peerId}/part/health', { scope: byPeer, role: 'admin' }, partOf),
  action('/peers/{peerId}', rows.update, {
    edits: (c) => peerPage(c),
    read: (form) => ({ ...readPeer(form), enabled: form.ticked('enabled') }),
    secrets: ['api_key'],
    next: (c) => `/peers/${c.subject.id}?done=saved`,
    failed: peerPage,
  }),
  action('/peers/{peerId}/refresh', rows.refresh, {
    next: (c) => `/peers/${c.subject.id}?done=fetched`,
    failed: (c, error) => peerPage(c, error),
  }),
  action('/peers/{peerId}/delete', rows.delete, {
    next: (c) => `${listPath(c.company_id)}?done=deleted`,
    failed: (c, error) => peerPage(c, error),
  }),
  ...peerRecordRoutes,
];
