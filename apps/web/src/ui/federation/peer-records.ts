/** Requests to a peer: the work delegated to it, and each call. */
import { endedTaskStates, type Peer, type PeerCall, type PeerDelegation } from '@acp/contract';
import { listDelegations, listPeerCalls, presentPeer } from '@acp/core';
import { companyPage } from '../kit/company-frame.ts';
import { count, money, timeAgo } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { emptyState, status, tabs } from '../kit/parts.ts';
import { type Column, moreLink, pageOf, table } from '../kit/table.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const byPeer = { by: 'peer', param: 'peerId' } as const;
type PeerContext = UiContext<'peer'>;

const peersPath = (company_id: string): string => `/companies/${company_id}/peers`;

/** Frame of a peer's pages, with tabs to its other ones. */
export async function peerFrame(context: PeerContext, rest: string, body: Html): Promise<Html> {
  const peer = presentPeer(context.subject);
  const path = peersPath(context.company_id);
  return companyPage(context, {
    title: peer.label,
    active: path,
    trail: [{ label: t`Peers`, path }],
    body: html`!${peerTabs(peer, rest)}!${body}`,
  });
}

function peerTabs({ id }: Peer, rest: string): Html {
  const own = `/peers/${id}`;
  const pages = [
    { label: t`Peer`, path: own },
    { label: t`Delegated work`, path: `${own}/delegations` },
    { label: t`Calls`, path: `${own}/calls` },
  ];
  return tabs('Peer', pages, own + rest);
}

const issueLink = (id: string | null, label: string): Html =>
  id === null ? html`<span class="soft">in the trash</span>` : html`<a href="/issues/${id}">${label}</a>`;

const delegationColumns: Column<PeerDelegation>[] = [
  {
    label: 'Issue',
    cell: ({ issue_id, identifier, title }) => issueLink(issue_id, `${identifier} ${title}`),
  },
  { label: 'Agent there', cell: ({ remote_agent }) => html`${remote_agent}` },
  {
    label: 'State',
    cell: ({ state, followed }) =>
      html`!${status(state)}
      !${when(!followed && !endedTaskStates.includes(state), () => html`<span class="soft small">no longer tracked</span>`)}`,
  },
  {
    label: 'Cost',
    kind: 'number',
    cell: ({ cost_usd }) =>
      cost_usd === null ? html`<span class="soft">not reported</span>` : money(cost_usd),
  },
  {
    label: 'What went wrong',
    cell: ({ error, failures }) =>
      when(
        error,
        (why) =>
          html`<span class="error">${why}</span>
            !${when(failures > 1, () => html`<span class="soft small">${count(failures)} times</span>`)}`,
      ),
  },
  { label: 'Changed', cell: ({ changed_at }) => timeAgo(changed_at) },
  { label: 'Delegated', cell: ({ created_at }) => timeAgo(created_at) },
];

async function delegationsPage(context: PeerContext): Promise<Html> {
  const { tx, subject, query } = context;
  const { items, next_cursor } = await listDelegations(tx, subject, pageOf(query));
  const own = `/peers/${subject.id}/delegations`;
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Work delegated to the peer’s agents', delegationColumns, items)}!${moreLink(own, next_cursor, 'Older work')}
        </div>`
      : emptyState(
          'Nothing has been delegated yet',
          html`Agents delegate an issue to a peer’s agent with <code>/assign ${subject.label}:AGENT</code>, or
            with the tool <code>peers__delegate</code>.`,
        );
  return peerFrame(context, '/delegations', list);
}

const callColumns: Column<PeerCall>[] = [
  { label: 'Call', cell: ({ method }) => html`<code>${method}</code>` },
  { label: 'Agent there', cell: ({ remote_agent }) => html`${remote_agent}` },
  { label: 'Issue', cell: ({ issue_id, identifier }) => issueLink(issue_id, identifier ?? 'issue') },
  { label: 'State', cell: ({ ok }) => status(ok ? 'succeeded' : 'failed') },
  { label: 'What came of it', cell: ({ error }) => html`${error ?? ''}` },
  { label: 'Milliseconds', kind: 'number', cell: ({ duration_ms }) => html`${count(duration_ms)}` },
  { label: 'When', cell: ({ created_at }) => timeAgo(created_at) },
];

async function callsPage(context: PeerContext): Promise<Html> {
  const { tx, subject, query } = context;
  const { items, next_cursor } = await listPeerCalls(tx, subject, pageOf(query));
  const own = `/peers/${subject.id}/calls`;
  const list =
    items.length > 0
      ? html`<div class="card">
          <p class="soft">Calls that only ask for a task’s state are listed if they failed.</p>
          !${table('Calls of the peer', callColumns, items)}!${moreLink(own, next_cursor, 'Older calls')}
        </div>`
      : emptyState('No calls yet', html`Every call of one of its agents appears here, with its outcome.`);
  return peerFrame(context, '/calls', list);
}

export const peerRecordRoutes: UiRoute[] = [
  page('/peers/{peerId}/delegations', { scope: byPeer, role: 'admin' }, delegationsPage),
  page('/peers/{peerId}/calls', { scope: byPeer, role: 'admin' }, callsPage),
];
