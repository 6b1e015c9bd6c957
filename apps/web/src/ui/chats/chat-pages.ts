import type { Chat } from '@acp/contract';
import type { AgentOutline } from '@acp/core';
import { asShown } from '../kit/as-shown.ts';
import { type FileLimits, limitsInWords, limitsOfAll } from '../kit/file-limits.ts';
import { timeAgo } from '../kit/format.ts';
import { choice, type Offer } from '../kit/choice.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { nothingListed, searched, searchedList } from '../kit/list-search.ts';
import { avatar, emptyState, formError, input, postButton } from '../kit/parts.ts';
import { moreLink } from '../kit/table.ts';
import { lastingAgents } from '../subagents/working-agents.ts';
import { thread, type ThreadView } from './thread.ts';

export const titleOf = ({ title }: Pick<Chat, 'title'>): string => title ?? t`New chat`;

interface ChatList {
  company_id: string;
  chats: readonly Chat[];
  agents: readonly AgentOutline[];
  /** Of the chats. */
  owners: readonly AgentOutline[];
  /** The page's own query. */
  query: Readonly<Record<string, string>>;
  next_cursor: string | null;
}

export function chatsBody(
  list: ChatList & { can_write: boolean; offer: Offer; agent_id: string; error: string | null },
): Html {
  const { company_id, agents, can_write, offer, query, chats, next_cursor, error, agent_id } = list;
  const path = `/companies/${company_id}/chats`;
  const shown =
    chats.length > 0
      ? html`<div class="card">
          !${chatLinks(list, null)}!${moreLink(searched(path, query), next_cursor, 'Older chats')}
        </div>`
      : nothingListed(path, query, () =>
          emptyState(
            'No chats yet',
            can_write && agents.length === 0
              ? html`<a href="/companies/${company_id}/agents/new">Hire an agent</a> to talk with it.`
              : can_write
                ? html`Choose an agent and say what you want. Only you can see your chats.`
                : html`Members of the company can talk with its agents.`,
          ),
        );
  return html`!${formError(error)} !${when(can_write, () => newChat(path, offer, agents, agent_id))}
  !${searchedList(path, query, { items: chats, next_cursor }, shown, 1)}`;
}

function newChat(path: string, offer: Offer, agents: readonly AgentOutline[], agent_id: string): Html {
  const lasting = new Set([agent_id, ...lastingAgents(agents).map(({ id }) => id)]);
  const listed = offer.listed.filter(({ id }) => lasting.has(id));
  if (listed.length === 0 && offer.source === null) return '';
  const value = agent_id || (offer.source === null ? listed[0]!.id : '');
  return html`<form class="card row" method="post" action="${path}">
    !${choice({ name: 'agent_id', label: 'Talk with', required: true, value, offer: { ...offer, listed } })}
    <button>New chat</button>
  </form>`;
}

function chatLinks({ chats, owners }: Pick<ChatList, 'chats' | 'owners'>, current: string | null): Html {
  const names = new Map(owners.map(({ id, name }) => [id, name]));
  return html`<ul class="chat-list">
    !${each(
      chats,
      (chat) =>
        html`<li>
          <a href="/chats/${chat.id}" !${attributes({ 'aria-current': chat.id === current ? 'page' : null })}>
            <span class="chat-title">${titleOf(chat)}</span>
            <span class="soft small"
              >${chat.agent_id === null ? t`a deleted agent` : (names.get(chat.agent_id) ?? t`an agent`)} ·
              !${timeAgo(chat.updated_at)}</span
            >
          </a>
        </li>`,
    )}
  </ul>`;
}

interface ChatView extends ThreadView {
  chat: Chat;
  list: Pick<ChatList, 'chats' | 'owners'>;
  file_limits: FileLimits;
  /** Why no message can be sent; null if one can. */
  closed: string | null;
  /** Why its agent does not answer for now. */
  silent: Html;
  error: string | null;
}

export function chatBody(view: ChatView): Html {
  const { chat, list, agent_name, closed, can_write, silent, error } = view;
  return html`<div class="chat">
    <aside class="chat-side" aria-label="Chats">
      <form method="get" action="/companies/${chat.company_id}/chats" role="search">
        <label class="sr-only" for="f-find">Search chats</label>
        <input id="f-find" name="q" type="search" placeholder="Search chats" autocomplete="off" />
      </form>
      !${chatLinks(list, chat.id)}
    </aside>
    <section class="chat-main" data-chat="${chat.id}" aria-label="Conversation">
      !${formError(error)}
      !${when(closed === null, () => html`<div data-live="agent:${chat.agent_id} budget_incident" data-source="/chats/${chat.id}/part/silent">!${silent}</div>`)}
      <p class="chat-with">
        !${avatar(agent_name)}
        !${closed === null ? html`<a href="/agents/${chat.agent_id}">${agent_name}</a>` : html`${agent_name}`}
      </p>
      <ol class="thread" data-thread aria-live="polite" aria-relevant="additions">
        !${thread(view)}
      </ol>
      !${when(view.rows.length === 0 && closed === null, () => html`<p class="soft" data-empty>Say something to ${agent_name}.</p>`)}
      !${can_write ? composer(view) : ''}
    </section>
  </div>`;
}

function composer({ chat, agent_name, file_limits, closed }: ChatView): Html {
  if (closed !== null) return html`<p class="notice">${closed}</p>`;
  return html`<form
    class="composer"
    method="post"
    enctype="multipart/form-data"
    action="/chats/${chat.id}/messages"
    data-api="/api/chats/${chat.id}/messages"
    data-composer
    data-draft
  >
    <p class="error" role="alert" data-error hidden></p>
    <label class="sr-only" for="f-say">Message to ${agent_name}</label>
    <div class="composer-row">
      <textarea
        id="f-say"
        name="body_markdown"
        rows="2"
        placeholder="Message to ${agent_name}"
        aria-describedby="h-say"
      ></textarea>
      <button>Send</button>
    </div>
    <div class="composer-files">
      <label class="button quiet small" for="f-files">Attach files</label>
      <input
        id="f-files"
        class="sr-only"
        type="file"
        name="file"
        multiple
        aria-describedby="h-files"
        !${limitsOfAll(file_limits)}
      />
      <ul data-files aria-label="Files to send"></ul>
    </div>
    <p class="hint" id="h-say">
      Enter sends, Shift+Enter starts a new line, Esc stops the reply, ↑ in an empty field edits your last
      message. Files can be pasted and dropped.
    </p>
    <p class="hint" id="h-files">${limitsInWords(file_limits)}</p>
  </form>`;
}

/** Form for renaming and deleting a chat. */
export async function chatSettings({ id, title }: Chat): Promise<Html> {
  const rename = html`<form class="row" method="post" action="/chats/${id}/title">
    !${input({ name: 'title', label: 'Title', value: title ?? '' })}
    <button>Save</button>
  </form>`;
  return html`<details class="edit">
    <summary>Rename or delete</summary>
    !${await asShown(rename)}
    !${postButton(`/chats/${id}/delete`, 'Delete this chat', { class: 'danger', confirm: 'Delete this chat permanently?' })}
  </details>`;
}
