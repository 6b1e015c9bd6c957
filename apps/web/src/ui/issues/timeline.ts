/** Comments and activity of an issue in one line of time. */
import type { ActivityEntry } from '@acp/contract';
import type { OutlinedComment } from '@acp/core';
import { foldedText } from '../kit/folded-text.ts';
import { timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { markdown } from '../kit/markdown.ts';
import { avatar, postButton } from '../kit/parts.ts';

export interface TimelineView {
  issue_id: string;
  comments: readonly OutlinedComment[];
  /** Of the comments before these; null where there are none. */
  earlier: string | null;
  activity: readonly ActivityEntry[];
  /** Names by agent id. */
  agents: ReadonlyMap<string, string>;
  can_write: boolean;
}

/** The comment itself is the better entry for its own creation. */
const SAID_BY_COMMENTS = new Set(['comment.created', 'issue.commented']);

export function timeline(view: TimelineView): Html {
  const entries = [
    ...view.comments.map((comment) => ({ at: comment.created_at, html: commentEntry(comment, view) })),
    ...view.activity
      .filter(({ action }) => !SAID_BY_COMMENTS.has(action))
      .map((entry) => ({ at: entry.created_at, html: activityEntry(entry) })),
  ].toSorted((a, b) => new Date(a.at).getTime() - new Date(b.at).getTime());
  return html`!${when(view.earlier, (cursor) => html`<p><a href="/issues/${view.issue_id}?before=${encodeURIComponent(cursor)}">Earlier comments</a></p>`)}
    <ol class="timeline">
      !${each(entries, (entry) => entry.html)}
    </ol>`;
}

function commentEntry(comment: OutlinedComment, view: TimelineView): Html {
  const name = comment.author_agent_id
    ? (view.agents.get(comment.author_agent_id) ?? 'an agent')
    : (comment.author_user_name ?? 'somebody');
  const pin = `/issues/${view.issue_id}/comments/${comment.id}/pin`;
  return html`<li class="comment" id="comment-${comment.id}" !${comment.is_pinned ? ' data-pinned' : ''}>
    !${avatar(name)}
    <div class="comment-body">
      <div class="comment-head">
        <strong>${name}</strong> <span class="soft small">!${timeAgo(comment.created_at)}</span>
        !${when(comment.is_pinned, () => html`<span class="status">pinned</span>`)}
        <span class="grow"></span>
        !${when(view.can_write, () => postButton(pin, comment.is_pinned ? 'Unpin' : 'Pin', { class: 'link small' }))}
      </div>
      !${textOf(comment, view.issue_id)}
    </div>
  </li>`;
}

function textOf({ id, body_markdown: text, length }: OutlinedComment, issue_id: string): Html {
  const source = `/issues/${issue_id}/comments/${id}`;
  return text === null ? foldedText(source, length) : markdown(text, source);
}

function activityEntry(entry: ActivityEntry): Html {
  return html`<li class="activity">
    <span class="dot" aria-hidden="true"></span>
    <span
      ><strong>${entry.actor_name}</strong> ${sentence(entry)}
      <span class="soft">!${timeAgo(entry.created_at)}</span></span
    >
  </li>`;
}

const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Happenings that are said often, as a person would say them. */
const phrases: Record<string, string> = {
  'comment.created': 'commented',
  'issue.created': 'created the issue',
  'issue.checked_out': 'checked the issue out',
  'issue.released': 'released the issue',
  'run.queued': 'queued a run',
  'run.started': 'began a run',
  'run.succeeded': 'finished a run',
  'run.failed': 'failed a run',
  'run.cancelled': 'cancelled a run',
  'agent.created': 'hired an agent',
};

/** `changed status from todo to done`; what has no words of its own is named by its action. */
export function sentence({ action, details }: Pick<ActivityEntry, 'action' | 'details'>): string {
  const fields = typeof details.changes === 'object' && details.changes !== null ? details.changes : {};
  const changes = Object.entries(fields).flatMap(([field, change]) => {
    if (typeof change !== 'object' || change === null || !('to' in change)) return [];
    const { from, to } = change as { from?: unknown; to: unknown };
    if (field === 'body_markdown') return ['rewrote the description'];
    if (field.endsWith('_id')) return [`changed ${words(field.replace(/_id$/, ''))}`];
    return [
      `changed ${words(field)}${from === null || from === undefined ? '' : ` from ${words(plain(from))}`} to ${words(plain(to))}`,
    ];
  });
  if (changes.length > 0) return changes.join(', ');
  const phrase = Object.hasOwn(phrases, action) ? phrases[action] : undefined;
  if (phrase !== undefined) return phrase;
  const [entity = '', verb = action] = action.split('.');
  const what = words(entity);
  if (entity === 'issue') return `${words(verb)} this issue`;
  // `created a skill`, `changed permissions of an agent`.
  const article = /^[aeiou]/.test(what) ? 'an' : 'a';
  const [first = '', ...rest] = words(verb).split(' ');
  const act = rest.length === 0 ? first : `${rest.at(-1)!} ${[first, ...rest.slice(0, -1)].join(' ')} of`;
  return `${act} ${article} ${what}`;
}
