import { agentEndpoints, type Provider, runEndpoints } from '@acp/contract';
import { agentDefaults, listProviders } from '@acp/core';
import { isDeepStrictEqual } from 'node:util';
import { roleIn } from '../../http/roles.ts';
import { chatButton } from '../chats/chat-button.ts';
import { offerOf } from '../kit/choice.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { agentTabs } from './settings-pages.ts';
import { agentForm } from './agent-form.ts';
import { agentBody } from './agent-pages.ts';
import { type AgentContext, agentParts, loadView } from './load-agent.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byAgent = { by: 'agent', param: 'agentId' } as const;

const listPath = (company_id: string): string => `/companies/${company_id}/agents`;

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
  const { tx, company_id } = context;
  const bosses = await offerOf(context, 'agent', form?.text('reports_to'));
  const providers = await providersFor(context);
  const list = listPath(company_id);
  const body = html`<div class="card">
    !${agentForm(`${list}/new`, { bosses, providers }, await agentDefaults(tx, company_id), error !== null && form ? { error, form } : null)}
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
  reports_to: form.chosen('reports_to'),
  adapter_type: form.given('adapter_type'),
  model: form.cleared('model'),
  provider_id: form.cleared('provider_id'),
  system_prompt: form.cleared('system_prompt'),
  adapter_config: form.entries('adapter_config'),
  heartbeat_enabled: form.has('heartbeat_enabled') ? form.checked('heartbeat_enabled') : undefined,
  auto_extract_findings: form.has('auto_extract_findings')
    ? form.checked('auto_extract_findings')
    : undefined,
  externally_available: form.has('externally_available') ? form.checked('externally_available') : undefined,
  heartbeat_interval_sec: form.number('heartbeat_interval_sec'),
});

/** What is as the company's defaults is left to them: they may contain what only an admin may write. */
async function readHire(form: FormValues, { tx, company_id }: UiContext<'company'>) {
  const defaults: object = await agentDefaults(tx, company_id);
  const usual = new Map<string, unknown>(Object.entries(defaults));
  return Object.fromEntries(
    Object.entries(readAgent(form)).filter(([name, value]) => !isDeepStrictEqual(value, usual.get(name))),
  );
}

const back = ({ subject }: AgentContext): string => `/agents/${subject.id}`;
const failed = (context: AgentContext, error: string): Promise<Html> => agentPage(context, error);

export const agentRoutes: UiRoute[] = [
  page('/companies/{companyId}/agents/new', { scope: byCompany, role: 'member' }, (c) =>
    newAgentPage(c, null, null),
  ),
  action('/companies/{companyId}/agents/new', agentEndpoints.create, {
    read: readHire,
    next: (_, created) => `/agents/${'agent' in created ? created.agent.id : created.id}`,
    failed: newAgentPage,
  }),
  page('/agents/{agentId}', { scope: byAgent, role: 'viewer' }, (c) => agentPage(c)),
  ...Object.entries(agentParts).map(([name, part]) =>
    page(`/agents/{agentId}/part/${name}`, { scope: byAgent, role: 'viewer' }, part),
  ),
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
