import type { Routine } from '@acp/contract';
import { exactTimeTo, timeAgo } from '../kit/format.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { nothingListed, searched, searchedList } from '../kit/list-search.ts';
import { avatar, emptyState, status, tabs } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';

export const listPath = (company_id: string): string => `/companies/${company_id}/routines`;

interface RoutineListView {
  company_id: string;
  routines: readonly Routine[];
  /** Agent names by id. */
  agents: ReadonlyMap<string, string>;
  archived: boolean;
  next_cursor: string | null;
  /** The page's own query. */
  query: Readonly<Record<string, string>>;
  can_write: boolean;
}

export function listBody(view: RoutineListView): Html {
  const { company_id, routines, archived, next_cursor, query } = view;
  const current = listPath(company_id);
  const shelf = `${current}?archived=yes`;
  const here = archived ? shelf : current;
  const views = [
    { label: t`Current`, path: searched(current, query) },
    { label: t`Archived`, path: searched(shelf, query) },
  ];
  const list =
    routines.length > 0
      ? html`<div class="card">
          !${table('Routines', columnsOf(view.agents), routines)}!${moreLink(searched(here, query), next_cursor, 'Older routines')}
        </div>`
      : nothingListed(here, query, () => nothing(view));
  return html`!${tabs('Routines', views, searched(here, query))}!${searchedList(here, query, { items: routines, next_cursor }, list)}`;
}

function nothing({ company_id, archived, can_write }: RoutineListView): Html {
  if (archived)
    return emptyState('No archived routines', html`An archived routine keeps its runs but no longer fires.`);
  const what = html`A routine repeatedly creates an issue for an agent: on a schedule, by a webhook, or by
  hand.`;
  const todo = can_write
    ? html`<a href="${listPath(company_id)}/new">Write the first one</a>, then give it a schedule; or open an
        issue that should recur and turn it into a routine.`
    : html`A member of the company writes them.`;
  return emptyState('No routines yet', html`!${what} !${todo}`);
}

function columnsOf(agents: ReadonlyMap<string, string>): Column<Routine>[] {
  return [
    { label: 'Name', cell: ({ id, name }) => html`<a href="/routines/${id}">${name}</a>` },
    { label: 'State', cell: (routine) => status(routine.status) },
    { label: 'Agent', cell: ({ assignee_agent_id: id }) => who(id === null ? undefined : agents.get(id)) },
    {
      label: 'Next fire',
      cell: ({ next_fire_at: at }) =>
        at === null ? html`<span class="soft">no schedule</span>` : exactTimeTo(at),
    },
    { label: 'Last fired', cell: ({ last_fired_at }) => timeAgo(last_fired_at) },
  ];
}

const who = (name: string | undefined): Html =>
  name === undefined
    ? html`<span class="soft">nobody</span>`
    : html`<span class="who">!${avatar(name)} ${name}</span>`;
