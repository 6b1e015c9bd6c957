/** All agents of a company: a filtered list, or the org chart. */
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { filtered } from '../kit/list-search.ts';
import { emptyState, tabs } from '../kit/parts.ts';
import { agentTable, chosen, type AgentLine, type AgentsFilter, filterForm } from './agent-list.ts';
import { orgChart, orgControls } from './org-chart.ts';

type AgentsView = 'list' | 'chart';

/** The filtered list or the org chart. */
export function agentsPart(lines: readonly AgentLine[], view: AgentsView, filter: AgentsFilter): Html {
  if (view === 'list') return agentTable(chosen(lines, filter));
  return orgChart(lines.map(({ agent }) => agent));
}

export function agentsBody(
  company_id: string,
  lines: readonly AgentLine[],
  view: AgentsView,
  { filter, query, can_write }: { filter: AgentsFilter; query: string; can_write: boolean },
): Html {
  if (lines.length === 0) {
    const hint = can_write
      ? html`<a href="/companies/${company_id}/agents/new">Hire the first one</a>: a name and a role are
          enough.`
      : html`Members of the company can hire agents.`;
    return emptyState('No agents yet', hint);
  }
  const path = `/companies/${company_id}/agents`;
  const chart = `${path}?view=chart`;
  const views = [
    { label: t`List`, path },
    { label: t`Org chart`, path: chart },
  ];
  const source = query === '' ? path : `${path}?${query}`;
  return html`!${tabs('Agents', views, view === 'chart' ? chart : path)}!${when(view === 'list', () => filterForm(path, filter))}!${when(view === 'chart', orgControls)}
  !${filtered(html`<div class="card" data-live="agents" data-source="${source}">!${agentsPart(lines, view, filter)}</div>`)}`;
}
