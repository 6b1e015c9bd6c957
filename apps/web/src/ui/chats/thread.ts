/** The messages of a chat. The script (assets/js/chat.js) compares `data-version` to see which ones changed. */
import { verbLine } from '@acp/contract';
import { type ChatMessageRow, presentMessage, type ReplyWork } from '@acp/core';
import { count, fileSize, money, timeAgo, words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { plural, say, t } from '../kit/language.ts';
import { markdown } from '../kit/markdown.ts';
import { avatar, postButton } from '../kit/parts.ts';

export interface ThreadView {
  chat_id: string;
  agent_name: string;
  rows: readonly ChatMessageRow[];
  work: ReadonlyMap<string, ReplyWork>;
  /** Position of the oldest message shown; null if there are no earlier ones. */
  earlier: number | null;
  /** Whether there may be later ones: the thread ends before a message. */
  is_former: boolean;
  user_id: string;
  can_write: boolean;
  /** False if the agent is gone: the messages stay readable. */
  can_ask: boolean;
}

export function thread(view: ThreadView): Html {
  const { rows, earlier, is_former, chat_id } = view;
  return html`!${when(earlier, (before) => html`<li class="more" data-key="earlier" data-version="${String(before)}"><a href="/chats/${chat_id}?before=${String(before)}">Earlier messages</a></li>`)}
  !${each(rows, (row) => said(view, row))}
  !${when(is_former, () => html`<li class="more" data-key="newest" data-version=""><a href="/chats/${chat_id}">Newest messages</a></li>`)}`;
}

function said(view: ThreadView, row: ChatMessageRow): Html {
  const mine = row.role === 'user';
  return html`<li
      class="said"
      id="m-${row.id}"
      data-key="${row.id}"
      data-version="${row.status} ${String(row.body_markdown.length)} ${row.run_id ?? ''}"
      data-role="${row.role}"
    >
      <p class="said-head">
        !${avatar(row.author_name)} <strong>${row.author_name}</strong>
        <span class="soft small">!${timeAgo(row.created_at)}</span>
        !${when(stateOf(row), (text) => html`<span class="soft small">${text}</span>`)}
      </p>
      <div class="said-body">!${markdown(row.body_markdown)}!${files(row)}</div>
      !${when(row.error, (error) => html`<p class="error">${say(error)}</p>`)}
      <div class="said-foot">
        !${when(!mine && row.run_id !== null && view.work.get(row.run_id), (work) => did(work, row.run_id ?? ''))}
        !${when(view.can_write, () => acts(view, row, mine))}
      </div>
    </li>
    !${when(row.status === 'answering', () => pending(view, row))}`;
}

/** Types displayed inline; a browser never executes the contents of an `img`. */
const pictures: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

function files(row: ChatMessageRow): Html {
  const { attachments } = presentMessage(row);
  if (attachments.length === 0) return '';
  return html`<ul class="said-files">
    !${each(
      attachments,
      ({ filename, content_type, size_bytes, download_path }) =>
        html`<li>
          <a href="${download_path}">
            !${when(pictures.includes(content_type), () => html`<img src="${download_path}" alt="" loading="lazy" />`)}
            <span class="file-name">${filename}</span> <span class="soft small">${fileSize(size_bytes)}</span>
          </a>
        </li>`,
    )}
  </ul>`;
}

function stateOf({ role, status }: ChatMessageRow): string {
  if (role === 'assistant') return status === 'stopped' ? words('stopped') : '';
  return { waiting: t`is waiting for its turn`, stopped: words('stopped') }[status] ?? '';
}

/** Actions taken besides writing, and the cost. */
function did({ actions, cost_usd, tokens, model }: ReplyWork, run_id: string): Html {
  const number = actions.length === 0 ? '' : `${plural(actions.length, '# action', '# actions')} · `;
  return html`<details class="did" data-fold="${run_id}">
    <summary>${number}!${money(cost_usd)}</summary>
    <ul>
      !${each(
        actions,
        (action) =>
          html`<li data-ok="${String(action.ok)}">
            <code>${verbLine(action)}</code>
            <span class="soft">${action.ok ? firstLine(action.result) : action.error}</span>
          </li>`,
      )}
      <li class="soft">${model ?? ''} ${count(tokens)} tokens · <a href="/runs/${run_id}">transcript</a></li>
    </ul>
  </details>`;
}

const firstLine = (text: string | null): string => (text ?? '').split('\n', 1)[0]!.slice(0, 200);

function acts({ chat_id, user_id, can_ask }: ThreadView, row: ChatMessageRow, mine: boolean): Html {
  const path = `/chats/${chat_id}/messages/${row.id}`;
  const issue = html`<a class="small" href="${path}/issue">Open an issue</a>`;
  const own = mine && row.author_user_id === user_id;
  const again = row.status !== 'waiting' && row.status !== 'answering';
  if (!own || !again || !can_ask) return mine ? '' : issue;
  const api = attributes({ 'data-api': `/api${path}/resend` });
  return html`<form method="post" action="${path}/resend" class="inline" !${api}>
      <button class="quiet small">${row.status === 'answered' ? t`Ask again` : t`Try again`}</button>
    </form>
    <details class="edit-said" data-fold="edit ${row.id}">
      <summary class="small">Edit</summary>
      <form method="post" action="${path}/resend" !${api}>
        <label class="sr-only" for="e-${row.id}">Message</label>
        <textarea
          id="e-${row.id}"
          name="body_markdown"
          rows="4"
          !${attributes({ required: row.attachments.length === 0 })}
        >
${row.body_markdown}</textarea>
        <p class="hint">Everything after it is removed.</p>
        <button class="small">Send again</button>
      </form>
    </details>`;
}

/** Placeholder for the reply being generated: the script fills it from the stream. */
function pending({ chat_id, agent_name, can_write }: ThreadView, { id }: ChatMessageRow): Html {
  return html`<li
    class="said"
    data-key="reply ${id}"
    data-version="live"
    data-role="assistant"
    data-follow="/api/chats/${chat_id}/messages/${id}/stream"
  >
    <p class="said-head">!${avatar(agent_name)} <strong>${agent_name}</strong></p>
    <div class="said-body" data-words aria-busy="true"><p class="soft thinking">is on it</p></div>
    <ul class="doing" data-doing></ul>
    !${when(can_write, () => html`<div class="said-foot" data-stop>!${postButton(`/chats/${chat_id}/stop`, 'Stop', { class: 'small' })}</div>`)}
  </li>`;
}
