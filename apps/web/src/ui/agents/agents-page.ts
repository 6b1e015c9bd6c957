/** All agents of a company: a filtered list, or the org chart. */
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { filtered } from '../kit/list-search.ts';
import { emptyState, tabs } from '../kit/parts.ts';
import { agentTable, chosen, type AgentLine, filterForm, readFilter } from './agent-list.ts';
import { orgChart, orgControls } from './org-chart.ts';

interface AgentsView {
  company_id: string;
  lines: readonly AgentLine[];
  query: Readonly<Record<string, string>>;
}

const pathOf = ({ company_id }: AgentsView): string => `/companies/${company_id}/agents`;
const isChart = ({ query }: AgentsView): boolean => query.view === 'chart';

/** The filtered list or the org chart. */
export function agentsPart(view: AgentsView): Html {
  const { lines, query } = view;
  if (isChart(view)) return orgChart(lines.map(({ agent }) => agent));
  return agentTable(pathOf(view), query, chosen(lines, readFilter(query)));
}

export function agentsBody(view: AgentsView, can_write: boolean): Html {
  const path = pathOf(view);
  if (view.lines.length === 0) {
    const hint = can_write
      ? html`<a href="${path}/new">Hire the first one</a>: a name and a role are enough.`
      : html`Members of the company can hire agents.`;
    return emptyState('No agents yet', hint);
  }
  const chart = `${path}?view=chart`;
  const views = [
    { label: t`List`, path },
    { label: t`Org chart`, path: chart },
  ];
  const query = new URLSearchParams(view.query).toString();
  const source = query === '' ? path : `${path}?${query}`;
  return html`!${tabs('Agents', views, isChart(view) ? chart : path)}!${isChart(view) ? orgControls() : filterForm(path, readFilter(view.query))}
  !${filtered(html`<div class="card" data-live="agents" data-source="${source}">!${agentsPart(view)}</div>`)}`;
}
