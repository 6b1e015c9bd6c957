import type { ActivityEntry } from '@acp/contract';
import { timeAgo, words } from '../kit/format.ts';
import { html, type Html } from '../kit/html.ts';
import { sentence } from '../issues/timeline.ts';

/** Page paths by entity type. A deleted entity answers 404 there. */
const pages: Readonly<Record<string, string>> = {
  issue: '/issues/',
  agent: '/agents/',
  run: '/runs/',
  approval: '/approvals/',
  budget_incident: '/budget-incidents/',
  project: '/projects/',
  goal: '/goals/',
  note: '/notes/',
  skill: '/skills/',
  routine: '/routines/',
};
/** The same for pages that only admins may open. */
const adminPages: Readonly<Record<string, string>> = {
  ...pages,
  provider: '/providers/',
  secret: '/secrets/',
};

/** One activity entry, linked to its subject. @param is_admin of whoever reads it @param time how it tells the time */
export function activityLine(
  entry: ActivityEntry,
  is_admin: boolean,
  time: (instant: Date | string) => Html = timeAgo,
): Html {
  return html`<li class="activity">
    <span class="dot" aria-hidden="true"></span
    ><span
      ><strong>${entry.actor_name}</strong> ${sentence(entry)}!${linkOf(entry, is_admin ? adminPages : pages)}
      <span class="soft">!${time(entry.created_at)}</span></span
    >
  </li>`;
}

/** Link labelled with the name in the entry. Parts of an issue without a page of their own link to the issue. */
function linkOf(
  { entity_type: type, entity_id, details }: ActivityEntry,
  paths: Readonly<Record<string, string>>,
): Html {
  const { issue_id, identifier, title, name } = details;
  const page = Object.hasOwn(paths, type) ? paths[type] : undefined;
  if (page !== undefined)
    return link(page + entity_id, text(identifier) ?? text(title) ?? text(name) ?? words(type));
  return text(issue_id) === null
    ? ''
    : link(`/issues/${String(issue_id)}`, text(identifier) ?? words('issue'));
}

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const link = (path: string, label: string): Html => html` · <a href="${path}">${label}</a>`;
