/** An issue's comments and activity in one timeline. */
import type { ActivityEntry, UserActor } from '@acp/contract';
import type { OutlinedComment } from '@acp/core';
import { timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { currentLanguage, plural, t, texts } from '../kit/language.ts';
import { commentEntry } from './comment-entry.ts';

export interface TimelineView {
  issue_id: string;
  company_id: string;
  user: UserActor;
  comments: readonly OutlinedComment[];
  /** Link to the comments before these; null if there are none. */
  earlier: string | null;
  /** Whether the reader is on a page older than the newest. */
  is_old: boolean;
  activity: readonly ActivityEntry[];
  /** Agent names by id. */
  agents: ReadonlyMap<string, string>;
  can_write: boolean;
}

/** Left out: the comment itself is the better entry for its own creation. */
const SAID_BY_COMMENTS = new Set(['comment.created', 'issue.commented']);

export function timeline(view: TimelineView): Html {
  const entries = [
    ...view.comments.map((comment) => ({
      at: comment.created_at,
      html: commentEntry(comment, view),
      comment: true,
    })),
    ...view.activity
      .filter(({ action }) => !SAID_BY_COMMENTS.has(action))
      .map((entry) => ({ at: entry.created_at, html: activityEntry(entry), comment: false })),
  ].toSorted((a, b) => new Date(a.at).getTime() - new Date(b.at).getTime());
  const groups = stretches(entries);
  const old = groups.slice(0, Math.max(0, groups.length - OPEN));
  const comments = old.filter(([first]) => first?.comment).length;
  return html`!${when(view.earlier, (cursor) => html`<p><a href="/issues/${view.issue_id}?before=${encodeURIComponent(cursor)}">Earlier comments</a></p>`)}
    !${when(
      old.length > 1,
      () =>
        html`<details class="old-activity" data-fold="old-activity">
          <summary>
            ${plural(comments, '# earlier comment and what happened then', '# earlier comments and what happened then')}
          </summary>
          <ol class="timeline">
            !${each(old, stretch)}
          </ol>
        </details>`,
    )}
    <ol class="timeline">
      !${each(old.length > 1 ? groups.slice(old.length) : groups, stretch)}
    </ol>
    !${when(view.is_old, () => html`<p><a href="/issues/${view.issue_id}">Back to the newest comments</a></p>`)}`;
}

/** Number of comments, and stretches of activity between them, shown expanded; older ones are folded. */
const OPEN = 12;

interface Entry {
  html: Html;
  comment: boolean;
}

/** Each comment is an entry; activity between comments is grouped. */
function stretches(entries: readonly Entry[]): Entry[][] {
  const found: Entry[][] = [];
  for (const entry of entries) {
    const last = found.at(-1);
    if (last && !entry.comment && !last[0]!.comment) last.push(entry);
    else found.push([entry]);
  }
  return found;
}

/** Number of activity entries shown between two comments: the newest; the rest is folded. */
const SHOWN = 3;

function stretch(entries: readonly Entry[]): Html {
  const folded = entries.slice(0, Math.max(0, entries.length - SHOWN));
  const shown = each(entries.slice(folded.length), (entry) => entry.html);
  if (folded.length < 2) return each(entries, (entry) => entry.html);
  return html`<li class="activity-fold">
      <details>
        <summary>${folded.length} earlier changes</summary>
        <ol class="timeline">
          !${each(folded, (entry) => entry.html)}
        </ol>
      </details>
    </li>
    !${shown}`;
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

/** Wordings for common activity. */
export const phrases: Record<string, string> = texts({
  'comment.created': 'commented',
  'issue.created': 'created the issue',
  'issue.checked_out': 'checked the issue out',
  'issue.released': 'released the issue',
  'issue.awaiting_input': 'asked for input',
  'issue.force_released': 'released the issue by force',
  'issue.label_added': 'added a label',
  'issue.label_removed': 'removed a label',
  'issue.needs_routing': 'asked who should do it',
  'issue.parked': 'put the issue aside',
  'issue.relation_added': 'linked the issue with another',
  'issue.relation_removed': 'removed a link to another issue',
  'compiled_index.configured': 'configured the index',
  'compiled_index.draft': 'drafted an index',
  'compiled_index.started': 'started to compile the index',
  'run.queued': 'queued a run',
  'run.started': 'started a run',
  'run.succeeded': 'finished a run',
  'run.failed': 'failed a run',
  'run.cancelled': 'cancelled a run',
  'agent.created': 'hired an agent',
});

/** Fields with values that the code knows: free text is shown as it is. */
const WORDED = new Set(['status', 'priority', 'role', 'level']);

/** `asked for input, changed status from todo to blocked`; an action without phrase or changes is named by its key. */
export function sentence({ action, details }: Pick<ActivityEntry, 'action' | 'details'>): string {
  const fields = typeof details.changes === 'object' && details.changes !== null ? details.changes : {};
  const changes = Object.entries(fields).flatMap(([field, change]) => {
    if (typeof change !== 'object' || change === null || !('to' in change)) return [];
    const { from, to } = change as { from?: unknown; to: unknown };
    if (from === to) return [];
    if (field === 'body_markdown') return [t`rewrote the description`];
    if (field.endsWith('_id')) return [t`changed ${words(field.replace(/_id$/, ''))}`];
    const shown = (value: unknown): string => (WORDED.has(field) ? words(plain(value)) : plain(value));
    return from === null || from === undefined
      ? [t`changed ${words(field)} to ${shown(to)}`]
      : [t`changed ${words(field)} from ${shown(from)} to ${shown(to)}`];
  });
  const phrase = Object.hasOwn(phrases, action) ? phrases[action]! : '';
  return [phrase, ...changes].filter(Boolean).join(', ') || named(action);
}

/** `created a skill`, `changed permissions of an agent`: English needs an article, other languages a different order. */
function named(action: string): string {
  const [entity = '', verb = action] = action.split('.');
  if (entity === 'issue') return t`${words(verb)} this issue`;
  if (currentLanguage() !== 'en') return t`did “${words(verb)}”: ${words(entity)}`;
  const what = words(entity);
  const article = /^[aeiou]/.test(what) ? 'an' : 'a';
  const [first = '', ...rest] = words(verb).split(' ');
  const act = rest.length === 0 ? first : `${rest.at(-1)!} ${[first, ...rest.slice(0, -1)].join(' ')} of`;
  return `${act} ${article} ${what}`;
}
