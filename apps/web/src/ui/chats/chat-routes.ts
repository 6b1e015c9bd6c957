import { type Chat, chatEndpoints as rows } from '@acp/contract';
import {
  type AgentOutline,
  agentOutlinesById,
  findAgent,
  findChatMessage,
  listAgentOutlines,
  listChats,
  newestChatMessages,
  presentChat,
  workOfReplies,
} from '@acp/core';
import { isUuid, notFound } from '@acp/kernel';
import { holdingBudgets, silentPart } from '../costs/held-work.ts';
import { companyPage } from '../kit/company-frame.ts';
import { offerOf } from '../kit/choice.ts';
import { FormValues } from '../kit/form-values.ts';
import type { Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { searchOf } from '../kit/list-search.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { newIssueBody } from '../issues/new-issue-page.ts';
import { chatBody, chatsBody, chatSettings, titleOf } from './chat-pages.ts';
import { thread, type ThreadView } from './thread.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byChat = { by: 'chat', param: 'chatId' } as const;
const listPath = (company_id: string): string => `/companies/${company_id}/chats`;

/** Number of messages a page starts with. */
const SHOWN = 50;

async function chatsPage(context: UiContext<'company'>, error: string | null = null): Promise<Html> {
  const { tx, user, company_id, query } = context;
  const agents = await listAgentOutlines(tx, company_id);
  const found = await listChats(tx, user, company_id, searchOf(query));
  const agent_id = query.agent && isUuid(query.agent) ? query.agent : '';
  const { items: chats, next_cursor } = found;
  const offer = await offerOf(context, 'agent', agent_id);
  const body = chatsBody({
    company_id,
    chats,
    agents,
    owners: await ownersOf(context, chats),
    offer,
    query,
    next_cursor,
    can_write: mayWrite(context),
    agent_id,
    error,
  });
  return companyPage(context, { title: t`Chats`, active: listPath(company_id), body });
}

/** The agents that the chats are with. */
const ownersOf = async ({ tx, company_id }: UiContext, chats: readonly Chat[]): Promise<AgentOutline[]> =>
  agentOutlinesById(
    tx,
    company_id,
    chats.map(({ agent_id }) => agent_id),
  );

type ChatAgent = { id: string; name: string; status: string } | undefined;

interface Conversation extends ThreadView {
  agent: ChatAgent;
}

const agentOf = async ({ tx, subject }: UiContext<'chat'>): Promise<ChatAgent> =>
  subject.agent_id === null ? undefined : findAgent(tx, subject.agent_id);

/** One that has ended never answers again. */
const mayAsk = (agent: ChatAgent): boolean => agent !== undefined && agent.status !== 'terminated';

async function threadOf(context: UiContext<'chat'>): Promise<Conversation> {
  const { tx, user, subject, query } = context;
  const before = Number(query.before);
  const known = Number.isSafeInteger(before) && before > 0 && before < 2 ** 31 ? { before } : {};
  const { rows: shown, earlier } = await newestChatMessages(tx, subject, { ...known, limit: SHOWN });
  const agent = await agentOf(context);
  return {
    chat_id: subject.id,
    agent_name: agent?.name ?? t`The agent`,
    rows: shown,
    work: await workOfReplies(tx, shown),
    is_former: 'before' in known,
    earlier: earlier ? (shown[0]?.position ?? null) : null,
    user_id: user.user_id,
    can_write: mayWrite(context),
    can_ask: mayAsk(agent),
    agent,
  };
}

/** Why it does not answer for now; one that is gone never does. */
async function silence({ tx, subject, company_id }: UiContext<'chat'>, agent: ChatAgent): Promise<Html> {
  if (!mayAsk(agent)) return '';
  const held = { company_id, agent_id: subject.agent_id, project_id: null };
  return silentPart(agent, await holdingBudgets(tx, held));
}

async function chatPage(context: UiContext<'chat'>, error: string | null = null): Promise<Html> {
  const { tx, user, subject, company_id, services } = context;
  const view = await threadOf(context);
  const { items: chats } = await listChats(tx, user, company_id, { limit: 30 });
  const { agent } = view;
  const closed = view.can_ask ? null : t`This chat’s agent is gone: the chat is read-only.`;
  const chat = presentChat(subject);
  const list = listPath(company_id);
  return companyPage(context, {
    title: titleOf(chat),
    active: list,
    trail: [
      { label: t`Chats`, path: list },
      ...(agent ? [{ label: agent.name, path: `/agents/${agent.id}` }] : []),
    ],
    actions: mayWrite(context) ? await chatSettings(chat) : '',
    wide: true,
    body: chatBody({
      ...view,
      chat,
      list: { chats, owners: await ownersOf(context, chats) },
      file_limits: services.upload_limits,
      closed,
      silent: await silence(context, agent),
      error,
    }),
  });
}

/** Draft of an issue from a message: its first line as the title, the full text as the description. */
async function issueOfMessage(context: UiContext<'chat'>): Promise<Html> {
  const { tx, subject, company_id, params } = context;
  const message = await findChatMessage(tx, subject, params.messageId ?? '');
  if (message === undefined) throw notFound();
  const agent = subject.agent_id === null ? undefined : await findAgent(tx, subject.agent_id);
  const line = message.body_markdown.split('\n').find((each) => each.trim() !== '') ?? '';
  const title = line
    .replaceAll(/[*_`#>]+/g, '')
    .trim()
    .slice(0, 120)
    .toWellFormed();
  const assignee_agent_id = agent?.id ?? '';
  const agents = await offerOf(context, 'agent', assignee_agent_id);
  const projects = await offerOf(context, 'project');
  const form = new FormValues({ title, body_markdown: message.body_markdown, assignee_agent_id });
  const list = listPath(company_id);
  return companyPage(context, {
    title: t`New issue`,
    active: `/companies/${company_id}/board`,
    trail: [
      { label: t`Chats`, path: list },
      { label: titleOf(subject), path: `/chats/${subject.id}` },
    ],
    body: newIssueBody({ company_id, agents, projects, error: null, form }),
  });
}

export const chatRoutes: UiRoute[] = [
  page('/companies/{companyId}/chats', { scope: byCompany, role: 'viewer' }, (c) => chatsPage(c)),
  action('/companies/{companyId}/chats', rows.create, {
    read: (form) => ({ agent_id: form.text('agent_id') }),
    next: (_, { id }) => `/chats/${id}`,
    failed: chatsPage,
  }),
  page('/chats/{chatId}', { scope: byChat, role: 'viewer' }, (c) => chatPage(c)),
  // Fetched by the script on changes.
  page('/chats/{chatId}/thread', { scope: byChat, role: 'viewer' }, async (c) => thread(await threadOf(c))),
  page('/chats/{chatId}/part/silent', { scope: byChat, role: 'viewer' }, async (c) =>
    silence(c, await agentOf(c)),
  ),
  page('/chats/{chatId}/messages/{messageId}/issue', { scope: byChat, role: 'member' }, issueOfMessage),
  action('/chats/{chatId}/messages', rows.post, {
    read: (form) => ({ body_markdown: form.given('body_markdown') }),
    next: ({ subject }) => `/chats/${subject.id}`,
    failed: chatPage,
  }),
  action('/chats/{chatId}/messages/{messageId}/resend', rows.resend, {
    read: (form) => ({ body_markdown: form.sent('body_markdown') }),
    next: ({ subject }) => `/chats/${subject.id}`,
    failed: chatPage,
  }),
  action('/chats/{chatId}/stop', rows.stop, {
    next: ({ subject }) => `/chats/${subject.id}`,
    failed: chatPage,
  }),
  action('/chats/{chatId}/title', rows.update, {
    read: (form) => ({ title: form.cleared('title') }),
    edits: (c) => chatPage(c),
    next: ({ subject }) => `/chats/${subject.id}`,
    failed: chatPage,
  }),
  action('/chats/{chatId}/delete', rows.delete, {
    next: ({ company_id }) => listPath(company_id),
    failed: chatPage,
  }),
];
