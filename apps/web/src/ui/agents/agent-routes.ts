import { agentEndpoints, type Provider, runEndpoints } from '@acp/contract';
import {
  agentFigures,
  budgetUsage,
  issueNames,
  listAgents,
  listProviders,
  listRuns,
  listSubagents,
  presentAgent,
  runtimeState,
  spending,
} from '@acp/core';
import { roleIn } from '../../http/roles.ts';
import { chatButton } from '../chats/chat-button.ts';
import { holdingBudgets } from '../costs/held-work.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { agentTabs } from './settings-pages.ts';
import { agentForm } from './agent-form.ts';
import { agentBody, agentPart, type AgentView } from './agent-pages.ts';
import { loadOpenIssues, openIssues } from './open-issues.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byAgent = { by: 'agent', param: 'agentId' } as const;

type AgentContext = UiContext<'agent'>;
const listPath = (company_id: string): string => `/companies/${company_id}/agents`;

async function loadView(context: AgentContext, error: string | null = null): Promise<AgentView> {
  const { tx, user, subject, company_id } = context;
  const { agents } = await listAgents(tx, user, { company_id });
  const state = await runtimeState(tx, subject);
  const runs = (await listRuns(tx, user, company_id, { agentId: subject.id, limit: 10 })).items;
  return {
    agent: presentAgent(subject),
    agents,
    runs,
    issues: await issueNames(
      tx,
      company_id,
      runs.map(({ issue_id }) => issue_id),
    ),
    open: await loadOpenIssues(tx, subject),
    subagents: await listSubagents(tx, { agent_id: subject.id }),
    last_error: state.last_error,
    pause_reason: subject.pause_reason,
    held_by: await holdingBudgets(tx, { company_id, agent_id: subject.id, project_id: null }),
    figures: (await agentFigures(tx, company_id, subject.id))[0],
    spend: await spending(tx, { agent_id: subject.id }),
    budgets: await budgetUsage(tx, company_id, { scope_ids: [subject.id] }),
    can_write: roleIn(user, company_id) !== 'viewer',
    error,
  };
}

/** Only admins choose providers: for others the form leaves the agent's unchanged. */
export async function providersFor({ tx, user, company_id }: UiContext): Promise<readonly Provider[] | null> {
  if (roleIn(user, company_id) !== 'admin') return null;
  return (await listProviders(tx, company_id, { limit: 200 })).items;
}

async function agentPage(context: AgentContext, error: string | null = null): Promise<Html> {
  const list = listPath(context.company_id);
  return companyPage(context, {
    title: context.subject.name,
    active: list,
    trail: [{ label: t`Agents`, path: list }],
    actions: chatButton(context, context.subject),
    body: html`!${agentTabs(context.subject.id, `/agents/${context.subject.id}`)}!${agentBody(await loadView(context, error))}`,
  });
}

async function newAgentPage(
  context: UiContext<'company'>,
  error: string | null,
  form: FormValues | null,
): Promise<Html> {
  const { tx, user, company_id } = context;
  const { agents } = await listAgents(tx, user, { company_id });
  const providers = await providersFor(context);
  const list = listPath(company_id);
  const body = html`<div class="card">
    !${agentForm(`${list}/new`, { agents, providers }, null, error !== null && form ? { error, form } : null)}
  </div>`;
  return companyPage(context, {
    title: t`Hire an agent`,
    active: list,
    trail: [{ label: t`Agents`, path: list }],
    body,
  });
}

export const readAgent = (form: FormValues) => ({
  name: form.sent('name'),
  role: form.given('role'),
  title: form.cleared('title'),
  reports_to: form.cleared('reports_to'),
  adapter_type: form.given('adapter_type'),
  model: form.cleared('model'),
  provider_id: form.cleared('provider_id'),
  system_prompt: form.cleared('system_prompt'),
  adapter_config: form.json('adapter_config'),
  heartbeat_enabled: form.has('heartbeat_enabled') ? form.checked('heartbeat_enabled') : undefined,
  auto_extract_findings: form.has('auto_extract_findings')
    ? form.checked('auto_extract_findings')
    : undefined,
  externally_available: form.has('externally_available') ? form.checked('externally_available') : undefined,
  heartbeat_interval_sec: form.number('heartbeat_interval_sec'),
});

const back = ({ subject }: AgentContext): string => `/agents/${subject.id}`;
const failed = (context: AgentContext, error: string): Promise<Html> => agentPage(context, error);

export const agentRoutes: UiRoute[] = [
  page('/companies/{companyId}/agents/new', { scope: byCompany, role: 'member' }, (c) =>
    newAgentPage(c, null, null),
  ),
  action('/companies/{companyId}/agents/new', agentEndpoints.create, {
    read: readAgent,
    next: (_, created) => `/agents/${'agent' in created ? created.agent.id : created.id}`,
    failed: newAgentPage,
  }),
  page('/agents/{agentId}', { scope: byAgent, role: 'viewer' }, (c) => agentPage(c)),
  page('/agents/{agentId}/part/{part}', { scope: byAgent, role: 'viewer' }, async (c) => {
    if (c.params.part === 'issues') return openIssues(c.subject, await loadOpenIssues(c.tx, c.subject));
    return agentPart(c.params.part, await loadView(c));
  }),
  action('/agents/{agentId}/pause', agentEndpoints.pause, {
    read: (form) => ({ reason: form.given('reason') }),
    next: back,
    failed,
  }),
  action('/agents/{agentId}/resume', agentEndpoints.resume, {
    next: back,
    failed,
  }),
  action('/agents/{agentId}/invoke', runEndpoints.invoke, {
    next: (_, run) => `/runs/${run.id}`,
    failed,
  }),
  action('/agents/{agentId}/delete', agentEndpoints.delete, {
    next: (c) => listPath(c.company_id),
    failed,
  }),
];
