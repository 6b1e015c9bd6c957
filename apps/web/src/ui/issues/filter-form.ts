/** The filters above lists and boards of issues, and the saved views. */
import {
  issueSorts,
  issueStatuses,
  priorities,
  type SavedView,
  type ViewFilter,
  type ViewLayout,
} from '@acp/contract';
import { choice, type Offer } from '../kit/choice.ts';
import { words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { moreFilters } from '../kit/list-search.ts';
import { checkbox, type Choice, input, postButton, select } from '../kit/parts.ts';
import { type AskedFilter, narrows, pathWith, queryOf } from './issue-filter.ts';

/** The available choices. */
export interface Choices {
  agents: Offer;
  projects: Offer;
  /** Null if the filter has none: few issues have a goal of their own. */
  goals: Offer | null;
  labels: Offer;
}

const any = (label: string): Choice => ({ value: '', label });
export const listed = (values: readonly string[]): Choice[] =>
  values.map((value) => ({ value, label: words(value) }));

const statusChoices = (): Choice[] => [{ value: 'open', label: t`open` }, ...listed(issueStatuses)];

const sortWords: Record<(typeof issueSorts)[number], string> = texts({
  created_at: 'newest',
  updated_at: 'recently changed',
  priority: 'most urgent',
  title: 'title',
});

/** @param layout the board shows its statuses side by side and has no sort order of its own */
export function filterForm(path: string, layout: ViewLayout, asked: AskedFilter, choices: Choices): Html {
  const { filter, errors, query } = asked;
  const field = (name: 'assignee' | 'project' | 'goal' | 'label', id: string | undefined) => {
    const error = errors.of(name);
    return { name, value: error === null ? id : query[name], error };
  };
  const { q, status, priority, unassigned, assignee_agent_id, project_id, goal_id, label_id } = filter;
  const inAddress = new URLSearchParams(queryOf(filter));
  const chosen = inAddress.get('status') ?? '';
  const several = (status?.length ?? 0) > 1 && chosen !== 'open';
  const statuses = several ? [{ value: chosen, label: t`${status!.length} of them` }] : [];
  const list = layout === 'list';
  return html`<form class="filters row" method="get" action="${path}" role="search" data-autosubmit>
    !${input({ name: 'q', label: 'Title or identifier', type: 'search', value: q ?? '' })}
    !${moreFilters([chosen, priority, unassigned, assignee_agent_id, project_id, goal_id, label_id, filter.sort, errors.any].some(Boolean))}
    !${when(list, () => select({ name: 'status', label: 'Status', value: chosen, choices: [any(t`any`), ...statuses, ...statusChoices()] }))}
    !${select({ name: 'priority', label: 'Priority', value: priority ?? '', choices: [any(t`any`), ...listed(priorities)] })}
    !${choice({ ...field('assignee', unassigned ? 'none' : assignee_agent_id), label: 'Assignee', offer: choices.agents, fixed: [any(t`anybody`), { value: 'none', label: t`nobody` }] })}
    !${choice({ ...field('project', project_id), label: 'Project', offer: choices.projects, fixed: [any(t`any`)] })}
    !${when(choices.goals, (offer) => choice({ ...field('goal', goal_id), label: 'Goal', offer, fixed: [any(t`any`)] }))}
    !${choice({ ...field('label', label_id), label: 'Label', offer: choices.labels, fixed: [any(t`any`)] })}
    !${when(list, () => select({ name: 'sort', label: 'Order', value: filter.sort ?? 'created_at', choices: issueSorts.map((value) => ({ value, label: sortWords[value] })) }))}
    !${when(list && filter.reverse, () => html`<input type="hidden" name="reverse" value="yes" />`)}
    !${when(inAddress.get('columns'), (columns) => html`<input type="hidden" name="columns" value="${columns}" />`)}
    <button class="quiet">Filter</button>
    <div class="clear small" data-filtered>
      !${when(narrows(filter), () => html`<a href="${path}?all=yes">Show all</a>`)}
    </div>
  </form>`;
}

interface ViewsOptions {
  company_id: string;
  layout: ViewLayout;
  filter: ViewFilter;
  views: readonly SavedView[];
  can_write: boolean;
}

const pathOf = (company_id: string, layout: ViewLayout): string =>
  `/companies/${company_id}/${layout === 'board' ? 'board' : 'issues'}`;

/** All issues and the saved views; the current one is marked. */
export function viewTabs({ company_id, layout, filter, views, can_write }: ViewsOptions): Html {
  const here = queryOf(filter);
  const shown = views.find((view) => view.layout === layout && queryOf(view.filter) === here);
  const all = html`<a
    href="${pathOf(company_id, layout)}?all=yes"
    !${current(here === '' && shown === undefined)}
    >All</a
  >`;
  const link = (view: SavedView): Html =>
    html`<a
      href="${pathWith(pathOf(company_id, view.layout), view.filter, { view: 'yes' })}"
      !${current(view === shown)}
      >${view.name}</a
    >`;
  return html`<div class="views" data-filtered>
    <nav class="tabs" aria-label="Views">!${all}!${each(views, link)}</nav>
    !${when(can_write, () => (shown === undefined ? keepForm(company_id, layout, here) : changeForm(shown)))}
  </div>`;
}

const current = (is: boolean): Html => attributes({ 'aria-current': is ? 'page' : null });

function keepForm(company_id: string, layout: ViewLayout, query: string): Html {
  if (query === '') return '';
  return html`<details class="edit">
    <summary>Save this view</summary>
    <form class="row" method="post" action="/companies/${company_id}/views?${query}">
      <input type="hidden" name="layout" value="${layout}" />
      !${input({ name: 'name', id: 'view-name', label: 'Name', required: true })}
      !${checkbox({ name: 'shared', label: 'for everyone here', checked: false })}
      <button>Save</button>
    </form>
  </details>`;
}

function changeForm({ id, name, shared }: SavedView): Html {
  return html`<details class="edit">
    <summary>This view</summary>
    <div class="row">
      !${postButton(`/views/${id}/shared`, shared ? 'Make it private' : 'Share it', { class: 'quiet small', fields: { shared: shared ? '' : 'on' } })}
      !${postButton(`/views/${id}/delete`, 'Delete it', { class: 'danger small', confirm: t`Delete the view ${name}?` })}
    </div>
  </details>`;
}
