import { agentFigures, listAgentOutlines, summarizeCosts } from '@acp/core';
import { monthOf } from '../costs/month.ts';
import { companyPage } from '../kit/company-frame.ts';
import { html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { workingAgents } from '../subagents/working-agents.ts';
import type { AgentLine } from './agent-list.ts';
import { agentsBody, agentsPart } from './agents-page.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const listPath = (company_id: string): string => `/companies/${company_id}/agents`;

/** All active agents, with their performance and this month's costs. */
async function agentLines({ tx, company_id }: UiContext): Promise<AgentLine[]> {
  const agents = await listAgentOutlines(tx, company_id);
  const figures = new Map((await agentFigures(tx, company_id)).map((each) => [each.agent_id, each]));
  const { from } = monthOf(undefined, new Date());
  const { groups } = await summarizeCosts(tx, company_id, { from, group_by: 'agent' });
  const spent = new Map(groups.map(({ key, cost_usd }) => [key, cost_usd]));
  return workingAgents(agents).map((agent) => ({
    agent,
    figures: figures.get(agent.id),
    spent: spent.get(agent.id) ?? 0,
  }));
}

export const agentListRoutes: UiRoute[] = [
  page('/companies/{companyId}/agents', { scope: byCompany, role: 'viewer' }, async (context) => {
    const { company_id, fragment, query } = context;
    const view = { company_id, lines: await agentLines(context), query };
    if (fragment) return agentsPart(view);
    const can_write = mayWrite(context);
    return companyPage(context, {
      title: t`Agents`,
      active: listPath(company_id),
      wide: true,
      actions: can_write ? html`<a class="button" href="${listPath(company_id)}/new">Hire an agent</a>` : '',
      body: agentsBody(view, can_write),
    });
  }),
];
