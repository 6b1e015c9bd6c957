import { issueEndpoints } from '@acp/contract';
import {
  type BoardFilter,
  listAgents,
  labelsByName,
  listProjects,
  readBoard,
  readBoardCard,
} from '@acp/core';
import { isUuid } from '@acp/kernel';
import { companyPage } from '../kit/company-frame.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { boardActions, boardBody } from './board-page.ts';
import { card } from './card.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byIssue = { by: 'issue', param: 'issueId' } as const;

const idOf = (value: string | undefined) => (value && isUuid(value) ? value : undefined);

/** What is no id filters nothing: an address that somebody mistyped still shows the board. */
function filterOf(query: UiContext['query']): BoardFilter {
  return {
    q: query.q?.replaceAll('\0', '').slice(0, 200) || undefined,
    assignee_agent_id: idOf(query.assignee),
    project_id: idOf(query.project),
    label_id: idOf(query.label),
  };
}

export const boardRoutes: UiRoute[] = [
  page('/companies/{companyId}/board', { scope: byCompany, role: 'viewer' }, async (context) => {
    const { tx, company_id, query, user } = context;
    const filter = filterOf(query);
    const columns = await readBoard(tx, company_id, filter);
    const { agents } = await listAgents(tx, user, { company_id });
    const labels = await labelsByName(tx, company_id);
    const { items: projects } = await listProjects(tx, company_id, { limit: 200 });
    return companyPage(context, {
      title: 'Board',
      active: `/companies/${company_id}/board`,
      wide: true,
      actions: boardActions(company_id),
      body: boardBody({
        company_id,
        columns,
        filter,
        agents: agents.map(({ id, name }) => ({ value: id, label: name })),
        projects: projects.map(({ id, name }) => ({ value: id, label: name })),
        labels: labels.map(({ id, name }) => ({ value: id, label: name })),
      }),
    });
  }),
  // One card, for the script: empty where the board with this filter does not show it.
  page('/issues/{issueId}/card', { scope: byIssue, role: 'viewer' }, async ({ tx, subject, query }) => {
    const shown = await readBoardCard(tx, subject, filterOf(query));
    return shown ? card(shown) : '';
  }),
  action('/issues/{issueId}/move', issueEndpoints.update, {
    read: (form) => ({ status: form.given('status') }),
    next: async ({ tx, subject, fragment, company_id }) => {
      if (!fragment) return `/companies/${company_id}/board`;
      const shown = await readBoardCard(tx, subject, {});
      return shown ? card(shown) : '';
    },
  }),
];
