import {
  agentEndpoints,
  agentFileEndpoints,
  agentPermissionDefaults,
  agentSettingsEndpoints,
} from '@acp/contract';
import {
  agentHome,
  agentPermissions,
  listAgentFiles,
  listAgentKeys,
  agentOutlinesById,
  listConfigRevisions,
  listFsSkills,
  listTaskSessions,
  presentAgent,
  userNames,
} from '@acp/core';
import { chatButton } from '../chats/chat-button.ts';
import { namesOfAnswerers } from '../kit/answered-by.ts';
import { offerOf } from '../kit/choice.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { formError, notice } from '../kit/parts.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { providersFor, readAgent } from './agent-routes.ts';
import { filesBody } from './files-pages.ts';
import { settingsBody, type SettingsOutcome } from './settings-pages.ts';

const byAgent = { by: 'agent', param: 'agentId' } as const;
type AgentContext = UiContext<'agent'>;

/** Of files on a page. Of the others only the newest are shown; the API has older ones. */
const SHOWN = { limit: 50 };

const done: Record<string, string> = texts({
  saved: 'Saved.',
  revoked: 'The key has been revoked.',
  session: 'The next run starts a new session.',
  file: 'The file has been saved.',
  knowledge: 'Saved. Search reflects this within a few seconds.',
  'file-deleted': 'The file has been deleted.',
  skill: 'The skill has been created.',
  'skill-deleted': 'The skill has been deleted.',
});

async function settingsPage(
  context: AgentContext,
  error: string | null = null,
  outcome: SettingsOutcome = {},
): Promise<Html> {
  const { tx, subject, company_id, services, query } = context;
  const { items: revisions } = await listConfigRevisions(tx, subject, SHOWN);
  const authors = revisions.map(({ created_by }) => created_by);
  const agents = await agentOutlinesById(tx, company_id, authors);
  const users = await userNames(tx, authors);
  const keys = (await listAgentKeys(tx, subject, {})).items;
  const body = await settingsBody({
    id: subject.id,
    agent: presentAgent(subject),
    bosses: await offerOf(context, 'agent', subject.reports_to, outcome.refused?.form.text('reports_to')),
    providers: await providersFor(context),
    permissions: agentPermissions(subject),
    keys,
    key_names: await namesOfAnswerers(tx, keys),
    revisions,
    names: new Map([...agents.map(({ id, name }) => [id, name] as const), ...users]),
    home: await agentHome(tx, subject, services.homes),
    sessions: (await listTaskSessions(tx, subject, SHOWN)).items,
    can_write: mayWrite(context),
    outcome,
  });
  return framed(context, html`!${formError(error)}!${notice(done[query.done ?? ''])}!${body}`);
}

async function filesPage(
  context: AgentContext,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, subject, query } = context;
  const body = filesBody({
    id: subject.id,
    files: await listAgentFiles(tx, subject, { ...SHOWN, cursor: query.cursor || undefined }),
    skills: (await listFsSkills(tx, subject, {})).items,
    as_knowledge: subject.files_as_knowledge,
    can_write: mayWrite(context),
    error,
    typed: {
      slug: form?.text('slug') ?? '',
      content: form?.text('content') ?? '',
      path: form?.text('path') ?? '',
    },
  });
  return framed(context, html`!${notice(done[query.done ?? ''])}!${body}`);
}

async function framed(context: AgentContext, body: Html): Promise<Html> {
  const list = `/companies/${context.company_id}/agents`;
  const trail = [{ label: t`Agents`, path: list }];
  const actions = chatButton(context, context.subject);
  return companyPage(context, { title: context.subject.name, active: list, trail, actions, body });
}

const edits = (context: AgentContext): Promise<Html> => settingsPage(context);
const failed = (context: AgentContext, error: string): Promise<Html> => settingsPage(context, error);
const settings = ({ subject }: AgentContext, what: string): string =>
  `/agents/${subject.id}/settings?done=${what}`;
const files = ({ subject }: AgentContext, what: string): string => `/agents/${subject.id}/files?done=${what}`;

export const agentSettingsRoutes: UiRoute[] = [
  page('/agents/{agentId}/settings', { scope: byAgent, role: 'viewer' }, (c) => settingsPage(c)),
  action('/agents/{agentId}/edit', agentEndpoints.update, {
    read: readAgent,
    edits,
    next: (c) => settings(c, 'saved'),
    failed: (c, error, form) => settingsPage(c, null, { refused: { error, form } }),
  }),
  action('/agents/{agentId}/permissions', agentSettingsEndpoints.updatePermissions, {
    read: (form) =>
      Object.fromEntries(
        Object.keys(agentPermissionDefaults)
          .filter((key) => form.has(key))
          .map((key) => [key, form.checked(key)]),
      ),
    edits,
    next: (c) => settings(c, 'saved'),
    failed,
  }),
  // The key is shown only in this response, so there is no redirect.
  action('/agents/{agentId}/keys', agentEndpoints.createKey, {
    scope: byAgent,
    read: (form, c) => ({ agent_id: c.subject.id, label: form.given('label') }),
    next: (c, { raw_key }) => settingsPage(c, null, { raw_key }),
    failed,
  }),
  action('/agent-keys/{keyId}/revoke', agentEndpoints.deleteKey, {
    next: (c) => `/agents/${c.subject.agent_id}/settings?done=revoked`,
  }),
  action('/agents/{agentId}/clear-session', agentEndpoints.clearSession, {
    next: (c) => settings(c, 'session'),
    failed,
  }),
  action('/agents/{agentId}/test-adapter', agentEndpoints.testAdapter, {
    next: (c, tested) => settingsPage(c, null, { tested }),
    failed,
  }),
  page('/agents/{agentId}/files', { scope: byAgent, role: 'viewer' }, (c) => filesPage(c)),
  action('/agents/{agentId}/files', agentFileEndpoints.upload, {
    read: (form) => ({ path: form.given('path') }),
    next: (c) => files(c, 'file'),
    failed: filesPage,
  }),
  action('/agents/{agentId}/files/knowledge', agentEndpoints.update, {
    read: (form) => ({ files_as_knowledge: form.checked('files_as_knowledge') }),
    next: (c) => files(c, 'knowledge'),
    failed: filesPage,
  }),
  action('/agents/{agentId}/files/delete', agentFileEndpoints.delete, {
    params: ({ query }) => ({ path: query.path ?? '' }),
    next: (c) => files(c, 'file-deleted'),
    failed: filesPage,
  }),
  action('/agents/{agentId}/fs-skills', agentFileEndpoints.createSkill, {
    read: (form) => ({ slug: form.text('slug').trim(), content: form.text('content') }),
    next: (c) => files(c, 'skill'),
    failed: filesPage,
  }),
  action('/agents/{agentId}/fs-skills/{slug}/delete', agentFileEndpoints.deleteSkill, {
    next: (c) => files(c, 'skill-deleted'),
    failed: filesPage,
  }),
];
