import { agentEndpoints, agentSettingsEndpoints, evolutionEndpoints as rows } from '@acp/contract';
import { findAgent, listEvolutions, listPromptVersions, presentAgent, presentEvolution } from '@acp/core';
import { notFound } from '@acp/kernel';
import { chatButton } from '../chats/chat-button.ts';
import { companyPage } from '../kit/company-frame.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { formError, notice } from '../kit/parts.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { evolutionBody, evolutionPart } from './evolution-pages.ts';
import { promptsBody, promptsPart, promptsPath, type PromptsView } from './prompt-pages.ts';

const byAgent = { by: 'agent', param: 'agentId' } as const;
const byEvolution = { by: 'prompt_evolution', param: 'evolutionId' } as const;
type AgentContext = UiContext<'agent'>;
type EvolutionContext = UiContext<'prompt_evolution'>;

const SHOWN = 50;
const EVOLUTIONS = 20;

const done: Record<string, string> = texts({
  prompt: 'This is now the agent’s prompt.',
  settings: 'Saved.',
});

async function promptsView(context: AgentContext): Promise<PromptsView> {
  const { tx, subject, services } = context;
  const on = services.instance.hasFeature('prompt_evolution');
  return {
    agent: presentAgent(subject),
    versions: (await listPromptVersions(tx, subject, { limit: SHOWN })).items,
    evolutions: on ? (await listEvolutions(tx, subject, { limit: EVOLUTIONS })).items : null,
    can_write: mayWrite(context),
  };
}

async function promptsPage(context: AgentContext, error: string | null = null): Promise<Html> {
  const { subject, query } = context;
  const list = `/companies/${context.company_id}/agents`;
  const body = await promptsBody(await promptsView(context));
  return companyPage(context, {
    title: subject.name,
    active: list,
    trail: [{ label: t`Agents`, path: list }],
    actions: chatButton(context, subject),
    body: html`!${formError(error)}!${notice(done[query.done ?? ''])}!${body}`,
  });
}

async function evolutionPage(context: EvolutionContext, error: string | null = null): Promise<Html> {
  const { tx, subject, services, company_id } = context;
  services.instance.requireFeature(rows.get);
  const agent = await findAgent(tx, subject.agent_id);
  if (agent === undefined) throw notFound();
  const list = `/companies/${company_id}/agents`;
  return companyPage(context, {
    title: t`Evolution of ${agent.name}’s prompt`,
    active: list,
    trail: [
      { label: t`Agents`, path: list },
      { label: agent.name, path: `/agents/${agent.id}/prompts` },
    ],
    body: evolutionBody(await presentEvolution(tx, subject), mayWrite(context), error),
  });
}

const prompts = ({ subject }: AgentContext, what: string): string =>
  `${promptsPath(subject.id)}?done=${what}`;
const failed = (context: AgentContext, error: string): Promise<Html> => promptsPage(context, error);

export const evolutionUiRoutes: UiRoute[] = [
  page('/agents/{agentId}/prompts', { scope: byAgent, role: 'viewer' }, (c) => promptsPage(c)),
  // Fetched by the script on changes.
  page('/agents/{agentId}/prompts/part/versions', { scope: byAgent, role: 'viewer' }, async (c) =>
    promptsPart(await promptsView(c)),
  ),
  action(
    '/agents/{agentId}/prompt-versions/{versionNumber}/activate',
    agentSettingsEndpoints.activatePrompt,
    {
      next: (c) => prompts(c, 'prompt'),
      failed,
    },
  ),
  action('/agents/{agentId}/prompts/settings', agentEndpoints.update, {
    read: (form) => ({
      gepa_auto_promote: form.ticked('gepa_auto_promote'),
      gepa_provider_override: form.cleared('gepa_provider_override'),
    }),
    edits: (c) => promptsPage(c),
    next: (c) => prompts(c, 'settings'),
    failed,
  }),
  action('/agents/{agentId}/evolve-prompt', rows.evolve, {
    read: (form) => ({
      max_rollouts: form.number('max_rollouts'),
      max_cost_usd: form.number('max_cost_usd'),
    }),
    next: (_, { id }) => `/evolutions/${id}`,
    failed,
  }),
  page('/evolutions/{evolutionId}', { scope: byEvolution, role: 'viewer' }, (c) => evolutionPage(c)),
  page('/evolutions/{evolutionId}/part/progress', { scope: byEvolution, role: 'viewer' }, async (c) => {
    c.services.instance.requireFeature(rows.get);
    return evolutionPart(await presentEvolution(c.tx, c.subject), mayWrite(c));
  }),
  action('/evolutions/{evolutionId}/cancel', rows.cancel, {
    next: ({ subject }) => `/evolutions/${subject.id}`,
    failed: evolutionPage,
  }),
];
