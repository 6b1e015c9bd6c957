/** The list of agents, filtered and sorted: what each one does, how it performs, and what it costs. */
import type { AgentFigures } from '@acp/contract';
import type { AgentOutline } from '@acp/core';
import { sparkline } from '../costs/figures.ts';
import { money, timeAgo, words } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { moreFilters } from '../kit/list-search.ts';
import { avatar, emptyState, input, select, status } from '../kit/parts.ts';
import { allLink, type Column, firstRows, table } from '../kit/table.ts';

const sorts = ['name', 'last_run', 'success', 'spent'] as const;
type Sort = (typeof sorts)[number];

interface AgentsFilter {
  q: string;
  state: string;
  sort: Sort;
}

export interface AgentLine {
  agent: AgentOutline;
  figures: AgentFigures | undefined;
  /** This month, in dollars. */
  spent: number;
}

const states = ['working', 'error', 'paused'] as const;

export function readFilter(query: Readonly<Record<string, string>>): AgentsFilter {
  return {
    q: (query.q ?? '').trim().slice(0, 200),
    state: states.find((state) => state === query.state) ?? '',
    sort: sorts.find((sort) => sort === query.sort) ?? 'name',
  };
}

/** As the other lists are searched: without case and accents. */
const folded = (text: string): string => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
const has = (text: string | null, q: string): boolean => folded(text ?? '').includes(folded(q));
const shareOf = ({ figures }: AgentLine): number =>
  figures && figures.ended > 0 ? figures.succeeded / figures.ended : -1;
const lastOf = ({ figures }: AgentLine): number =>
  figures?.last_run_at ? new Date(figures.last_run_at).getTime() : 0;

/** Success sorts in ascending order: readers who sort by it are looking for failures. */
const orders: Record<Sort, (a: AgentLine, b: AgentLine) => number> = {
  name: (a, b) => a.agent.name.localeCompare(b.agent.name),
  last_run: (a, b) => lastOf(b) - lastOf(a),
  success: (a, b) => shareOf(a) - shareOf(b),
  spent: (a, b) => b.spent - a.spent,
};

export function chosen(lines: readonly AgentLine[], { q, state, sort }: AgentsFilter): AgentLine[] {
  return lines
    .filter(({ agent }) => has(agent.name, q) || has(agent.role, q) || has(agent.title, q))
    .filter(
      ({ agent, figures }) =>
        state === '' || (state === 'working' ? figures?.last_status === 'running' : agent.status === state),
    )
    .toSorted((a, b) => orders[sort](a, b) || orders.name(a, b));
}

export function filterForm(path: string, { q, state, sort }: AgentsFilter): Html {
  const choice = (value: string, label: string) => ({ value, label });
  return html`<form class="filters row" method="get" action="${path}" role="search" data-autosubmit>
    !${input({ name: 'q', label: 'Name or role', type: 'search', value: q })}
    !${moreFilters(state !== '' || sort !== 'name')}
    !${select({ name: 'state', label: 'State', value: state, choices: [choice('', t`any`), choice('working', words('working')), choice('error', words('failed')), choice('paused', words('paused'))] })}
    !${select({ name: 'sort', label: 'Order', value: sort, choices: [choice('name', words('name')), choice('last_run', t`last run`), choice('success', t`most failures`), choice('spent', t`highest cost`)] })}
    <button class="quiet">Filter</button>
  </form>`;
}

export function agentTable(
  path: string,
  query: Readonly<Record<string, string>>,
  lines: readonly AgentLine[],
): Html {
  if (lines.length === 0) return emptyState('Nothing matches', html`No agent matches these filters.`);
  return html`!${table('Agents', columns, firstRows(lines, query))}!${allLink(path, query, lines)}`;
}

const columns: Column<AgentLine>[] = [
  {
    label: 'Name',
    cell: ({ agent: { id, name } }) =>
      html`<span class="who">!${avatar(name)} <a href="/agents/${id}">${name}</a></span>`,
  },
  { label: 'Role', phone: 'plain', cell: ({ agent: { role, title } }) => html`${title ?? words(role)}` },
  { label: 'State', phone: 'plain', cell: ({ agent }) => status(agent.status) },
  {
    label: 'Works on',
    phone: 'named',
    cell: ({ figures }) =>
      when(
        figures?.current_issue,
        ({ id, identifier, title }) => html`<a href="/issues/${id}" title="${title}">${identifier}</a>`,
      ),
  },
  {
    label: 'Last run',
    phone: 'named',
    cell: ({ figures }) =>
      figures?.last_run_id
        ? html`<a href="/runs/${figures.last_run_id}">!${timeAgo(figures.last_run_at)}</a>`
        : html`<span class="soft">never</span>`,
  },
  {
    label: 'Success',
    kind: 'number',
    phone: 'named',
    cell: ({ figures }) =>
      figures && figures.ended > 0
        ? html`<span title="${figures.succeeded} of the last ${figures.ended}"
            >${Math.round((100 * figures.succeeded) / figures.ended)} %</span
          >`
        : '',
  },
  {
    label: 'Newest runs',
    phone: 'plain',
    cell: ({ agent, figures }) => sparkline(t`Cost of ${agent.name}’s latest runs`, figures?.runs ?? []),
  },
  { label: 'This month', kind: 'number', phone: 'named', cell: ({ spent }) => money(spent) },
  { label: 'Model', phone: 'named', cell: ({ agent: { model } }) => html`${model ?? t`the default`}` },
];
