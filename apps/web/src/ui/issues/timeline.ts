/** An issue's comments and activity in one timeline. */
import type { ActivityEntry, UserActor } from '@acp/contract';
import type { OutlinedComment } from '@acp/core';
import { firstWords, timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { currentLanguage, plural, say, t, texts } from '../kit/language.ts';
import { commentEntry } from './comment-entry.ts';

export interface TimelineView {
  issue_id: string;
  company_id: string;
  user: UserActor;
  comments: readonly OutlinedComment[];
  /** The comments before these: where they are, and how many; null if there are none. */
  earlier: { cursor: string; count: number } | null;
  /** Where the page of an older conversation begins; null on the newest page. */
  before: string | null;
  /** When the newest entry was made that the page began with: later ones fold nothing. Null for a page that begins now. */
  seen: Date | null;
  activity: readonly ActivityEntry[];
  /** Agent names by id. */
  agents: ReadonlyMap<string, string>;
  can_write: boolean;
}

/** Left out: the comment itself is the better entry for its own creation. */
const SAID_BY_COMMENTS = new Set(['comment.created', 'issue.commented']);

interface Entry {
  id: string;
  /** In milliseconds. */
  at: number;
  html: Html;
  comment: boolean;
}

const instantOf = (instant: Date | string): number => new Date(instant).getTime();

const entriesOf = (view: TimelineView): Entry[] =>
  [
    ...view.comments.map((comment) => ({
      id: comment.id,
      at: instantOf(comment.created_at),
      html: commentEntry(comment, view),
      comment: true,
    })),
    ...view.activity
      .filter(({ action }) => !SAID_BY_COMMENTS.has(action))
      .map((entry) => ({
        id: entry.id,
        at: instantOf(entry.created_at),
        html: activityEntry(entry),
        comment: false,
      })),
  ].toSorted((a, b) => a.at - b.at);

/** The timeline as a part of its page, which asks for what has happened since in the same places. */
export function liveTimeline(view: TimelineView): Html {
  const { issue_id, before } = view;
  const entries = entriesOf(view);
  const seen = new Date(view.seen ?? entries.at(-1)?.at ?? 0);
  const asked = new URLSearchParams({ seen: seen.toISOString(), ...(before === null ? {} : { before }) });
  return html`<div
    data-live="issue:${issue_id}"
    data-source="/issues/${issue_id}/part/timeline?${asked.toString()}"
  >
    !${lists(view, entries, seen.getTime())}
  </div>`;
}

export function timeline(view: TimelineView): Html {
  const entries = entriesOf(view);
  return lists(view, entries, view.seen?.getTime() ?? Infinity);
}

/** Only the newest page folds anything: who goes to an older one wants to read it. */
function lists(view: TimelineView, entries: readonly Entry[], seen: number): Html {
  const { earlier, before } = view;
  const groups = stretches(entries);
  const known = groups.filter(([first]) => first!.at <= seen).length;
  const old = before === null ? groups.slice(0, Math.max(0, known - OPEN)) : [];
  const folds = old.length > 1;
  const comments = old.filter(([first]) => first!.comment).length + (earlier?.count ?? 0);
  return html`!${when(earlier && !folds, () => html`<p>!${earlierLink(view, t`Show earlier: ${comments}`)}</p>`)}
    !${when(
      folds,
      () =>
        html`<details class="old-activity" data-fold="old-activity">
          <summary>
            ${comments > 0 ? t`Show earlier: ${comments}` : plural(old.flat().length, '# earlier change', '# earlier changes')}
          </summary>
          !${when(earlier, ({ count }) => html`<p>!${earlierLink(view, t`Still earlier: ${count}`)}</p>`)}
          <ol class="timeline">
            !${each(old, (entry) => stretch(entry, seen))}
          </ol>
        </details>`,
    )}
    <ol class="timeline">
      !${each(folds ? groups.slice(old.length) : groups, (entry) => stretch(entry, seen))}
    </ol>
    !${when(before !== null, () => html`<p><a href="/issues/${view.issue_id}">Back to the newest comments</a></p>`)}`;
}

const earlierLink = ({ issue_id, earlier }: TimelineView, text: string): Html =>
  html`<a href="/issues/${issue_id}?before=${encodeURIComponent(earlier?.cursor ?? '')}">${text}</a>`;

/** Number of comments, and stretches of activity between them, shown expanded; older ones are folded. */
const OPEN = 12;

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

/** Number of activity entries shown between two comments: the newest that the page began with, and later ones; the rest is folded. */
const SHOWN = 3;

function stretch(entries: readonly Entry[], seen: number): Html {
  const known = entries.filter(({ at }) => at <= seen).length;
  const folded = entries.slice(0, Math.max(0, known - SHOWN));
  const shown = each(entries.slice(folded.length), (entry) => entry.html);
  if (folded.length < 2) return each(entries, (entry) => entry.html);
  const id = `changes-${folded[0]!.id}`;
  return html`<li class="activity-fold" id="${id}">
      <details data-fold="${id}">
        <summary>${folded.length} earlier changes</summary>
        <ol class="timeline">
          !${each(folded, (entry) => entry.html)}
        </ol>
      </details>
    </li>
    !${shown}`;
}

function activityEntry(entry: ActivityEntry): Html {
  return html`<li class="activity" id="activity-${entry.id}">
    <span class="dot" aria-hidden="true"></span>
    <span
      ><strong>${entry.actor_name}</strong> ${sentence(entry)}!${whyFailed(entry)}
      <span class="soft">!${timeAgo(entry.created_at)}</span></span
    >
  </li>`;
}

/** Leads to the run. */
function whyFailed({ action, details: { run_id, error } }: ActivityEntry): Html {
  if (action !== 'issue.run_failed' || typeof run_id !== 'string') return '';
  const why = typeof error === 'string' ? say(error) : '';
  return html`: <a class="failure" href="/runs/${run_id}">${firstWords(plain(why), 200)}</a>`;
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
  'issue.run_failed': 'failed a run',
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
  'agent.file_written': 'wrote a file of an agent',
  'agent.file_deleted': 'deleted a file of an agent',
  'agent.skill_written': 'wrote a skill of an agent',
  'agent.skill_deleted': 'deleted a skill of an agent',
  'agent.skill_attached': 'attached a skill to an agent',
  'agent.skill_detached': 'detached a skill from an agent',
  'agent.session_cleared': 'cleared the session of an agent',
  'approval.commented': 'commented on an approval',
  'budget.warned': 'warned of a nearly exhausted budget',
  'budget.breached': 'reported an exhausted budget',
  'peer.failing': 'found a peer failing',
  'peer.healthy': 'found a peer healthy again',
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
