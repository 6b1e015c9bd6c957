import type { BoardCard } from '@acp/core';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { words } from '../kit/format.ts';
import { plural, t } from '../kit/language.ts';
import { avatar, priority } from '../kit/parts.ts';
import { flagsOf } from './flags.ts';

/** A board card: a link to the issue, which the script moves by keyboard and, for those who may, by drag. */
export function card(issue: BoardCard, can_write: boolean): Html {
  const flags = flagsOf(issue);
  return html`<a
    class="issue-card"
    id="card-${issue.id}"
    href="/issues/${issue.id}"
    aria-label="${nameOf(issue)}"
    data-issue="${issue.id}"
    data-status="${issue.status}"
    data-changed="${new Date(issue.updated_at).toISOString()}"
    draggable="${String(can_write)}"
    !${attributes({ 'data-working': issue.checked_out_by_agent_id !== null })}
  >
    <span class="card-line"
      ><span class="identifier">${issue.identifier}</span> !${priority(issue.priority)}</span
    >
    <span class="card-title" title="${issue.title}">${issue.title}</span>
    !${when(issue.labels.length > 0, () => html`<span class="labels">!${each(issue.labels, (l) => html`<span class="label">${l.name}</span> `)}</span>`)}
    <span class="card-line">
      !${issue.assignee_name ? html`!${avatar(issue.assignee_name)}<span class="soft small">${issue.assignee_name}</span>` : html`<span class="soft small">unassigned</span>`}
      <span class="grow"></span>
      !${each(flags, (flag) => html`<span class="flag" data-flag="${flag}">${words(flag)}</span> `)}
      !${when(issue.comment_count, (n) => html`<span class="soft small" title="comments">${plural(n, '# comment', '# comments')}</span>`)}
    </span>
  </a>`;
}

/** All of it, since a browser does not read out what it has not drawn yet: a card that is out of view would have no name. */
const nameOf = (issue: BoardCard): string =>
  [
    issue.identifier,
    words(issue.priority),
    issue.title,
    ...issue.labels.map(({ name }) => name),
    issue.assignee_name ?? t`unassigned`,
    ...flagsOf(issue).map(words),
    ...(issue.comment_count > 0 ? [plural(issue.comment_count, '# comment', '# comments')] : []),
  ].join(', ');
