import { agentEndpoints, companyEndpoints, inviteEndpoints, issueEndpoints } from '@acp/contract';
import {
  type AgentOutline,
  agentOutlinesById,
  dayFigures,
  hasDefaultProvider,
  listProviders,
  listActivity,
  listAgentOutlines,
  listIssues,
  issueNames,
  listRuns,
  listTemplates,
  MOST_WAITING,
  readWaiting,
  slugOf,
  spending,
  userNames,
} from '@acp/core';
import { incidentLinks } from '../costs/incidents.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { notice } from '../kit/parts.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { roleIn } from '../../http/roles.ts';
import { companiesPage } from './companies-page.ts';
import { dashboardBody, dashboardParts, type DashboardView } from './company-pages.ts';
import type { FirstSteps } from './first-steps.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const everywhere = { by: 'none' } as const;

const doneHere: Record<string, string> = texts({
  connected: 'The model is connected.',
  hired: 'The agent is hired.',
  team: 'The team is here. Give one of them an issue.',
  imported: 'The company has been created. Heartbeats, schedules and webhooks are switched off.',
});

async function loadDashboard(
  context: UiContext,
  refused: FirstSteps['refused'] = null,
): Promise<DashboardView> {
  const { tx, user, company_id } = context;
  const agents = await listAgentOutlines(tx, company_id);
  const inbox = await readWaiting(tx, user, company_id);
  const running = await listRuns(tx, user, company_id, { status: 'running', limit: MOST_WAITING });
  const queued = await listRuns(tx, user, company_id, { status: 'queued', limit: MOST_WAITING });
  const live = [...running.items, ...queued.items];
  return {
    company_id,
    steps: await loadFirstSteps(context, agents, refused),
    agents,
    live,
    live_agents: await agentOutlinesById(
      tx,
      company_id,
      live.map(({ agent_id }) => agent_id),
    ),
    live_issues: await issueNames(
      tx,
      company_id,
      live.map(({ issue_id }) => issue_id),
    ),
    inbox,
    budgets: await incidentLinks(tx, company_id, inbox.budget_incidents),
    names: await userNames(
      tx,
      inbox.join_requests.map(({ user_id }) => user_id),
    ),
    spend: await spending(tx, { company_id }),
    activity: (await listActivity(tx, company_id, { limit: 20 })).items,
    is_admin: roleIn(user, company_id) === 'admin',
    can_write: mayWrite(context),
    days: await dayFigures(tx, company_id),
  };
}

/** How long the dashboard speaks of the first issue after it is done. */
const ACHIEVED_MS = 86_400_000;

/** Null a day after the company's first issue is done, or with the second, and for viewers, who cannot take these steps. */
async function loadFirstSteps(
  { tx, user, company_id, services }: UiContext,
  agents: readonly AgentOutline[],
  refused: FirstSteps['refused'],
): Promise<FirstSteps | null> {
  const role = roleIn(user, company_id);
  if (role === 'viewer') return null;
  const [finished, more] = (await listIssues(tx, company_id, { status: 'done', limit: 2 })).items;
  if (more || (finished && Date.now() - new Date(finished.updated_at).getTime() > ACHIEVED_MS)) return null;
  const brings_own = agents.some(
    ({ adapter_type, provider_id }) => provider_id !== null || adapter_type !== 'llm',
  );
  const { items } = await listIssues(tx, company_id, { limit: 1 });
  const has_model = services.has_model || brings_own || (await hasDefaultProvider(tx, company_id));
  const providers = has_model || role !== 'admin' ? null : await listProviders(tx, company_id, { limit: 1 });
  return {
    company_id,
    has_model,
    may_connect: role === 'admin',
    unfinished: providers?.items[0] ?? null,
    templates: role === 'admin' ? await listTemplates(services.portability.templates) : [],
    stores_keys: services.vault.available,
    agents,
    issue: finished ?? items[0] ?? null,
    refused,
  };
}

async function dashboardPage(
  context: UiContext,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const path = `/companies/${context.company_id}`;
  const view = await loadDashboard(context, error !== null && form ? { error, form } : null);
  if (context.fragment) return dashboardParts(view);
  const body = html`!${notice(doneHere[context.query.done ?? ''])}!${dashboardBody(view)}`;
  return companyPage(context, { title: t`Dashboard`, active: path, body });
}

export const companyRoutes: UiRoute[] = [
  page('/companies', { scope: everywhere, role: 'none' }, (c) => companiesPage(c)),
  action('/companies', companyEndpoints.create, {
    read: (form) => ({ name: form.text('name'), slug: form.given('slug') ?? slugOf(form.text('name')) }),
    next: (_, company) => `/companies/${company.id}`,
    failed: (c, error, form) => companiesPage(c, error, form),
  }),
  action('/join-requests', inviteEndpoints.requestToJoin, {
    read: (form) => ({ company_id: form.text('company_id').trim(), message: form.given('message') }),
    next: () => '/companies?done=asked',
    failed: (c, error, form) => companiesPage(c, error, form),
  }),
  page('/companies/{companyId}', { scope: byCompany, role: 'viewer' }, (c) => dashboardPage(c)),
  action('/companies/{companyId}/first-agent', agentEndpoints.create, {
    read: (form) => ({ name: form.text('name'), role: form.given('role') }),
    next: ({ company_id }) => `/companies/${company_id}?done=hired`,
    failed: dashboardPage,
  }),
  action('/companies/{companyId}/first-issue', issueEndpoints.create, {
    read: (form) => ({
      title: form.text('title'),
      assignee_agent_id: form.cleared('assignee_agent_id'),
    }),
    next: (_, made) => `/issues/${'issue' in made ? made.issue.id : made.id}`,
    failed: dashboardPage,
  }),
];
