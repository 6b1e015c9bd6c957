import type { ActivityEntry } from '@acp/contract';
import { timeAgo, words } from '../kit/format.ts';
import { html, type Html } from '../kit/html.ts';
import { sentence } from '../issues/timeline.ts';

/** Where things have a page of their own. What is gone answers 404 there. */
const pages: Readonly<Record<string, string>> = {
  issue: '/issues/',
  agent: '/agents/',
  run: '/runs/',
  approval: '/approvals/',
  project: '/projects/',
  goal: '/goals/',
  note: '/notes/',
  skill: '/skills/',
  provider: '/providers/',
  secret: '/secrets/',
};

/** A line of what was done, with the way to what it was done to. */
export function activityLine(entry: ActivityEntry): Html {
  const { entity_type: type, entity_id } = entry;
  const page = Object.hasOwn(pages, type) ? pages[type] : undefined;
  const link =
    page === undefined || entity_id === null ? '' : html` · <a href="${page}${entity_id}">${words(type)}</a>`;
  return html`<li class="activity">
    <span class="dot" aria-hidden="true"></span
    ><span
      ><strong>${entry.actor_name}</strong> ${sentence(entry)}!${link}
      <span class="soft">!${timeAgo(entry.created_at)}</span></span
    >
  </li>`;
}
