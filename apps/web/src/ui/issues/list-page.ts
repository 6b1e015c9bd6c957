/** Issues as a list: one table with cells that can be edited in place, and bulk actions. */
import {
  type Issue,
  issueStatuses,
  priorities,
  type SavedView,
  type ViewColumn,
  viewColumns,
  type ViewFilter,
} from '@acp/contract';
import { choice, type Offer } from '../kit/choice.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { count as inWords, timeAgo, words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { plural, t } from '../kit/language.ts';
import { filtered } from '../kit/list-search.ts';
import { avatar, type Choice, emptyState, formError, priority, select, status } from '../kit/parts.ts';
import { type Column, moreLink, table, tableRow } from '../kit/table.ts';
import { flagsOf } from './flags.ts';
import { type Choices, filterForm, listed, viewTabs } from './filter-form.ts';
import { type AskedFilter, narrows, pathWith, queryOf } from './issue-filter.ts';

/** A text may be long, and no list shows it. */
type ListedIssue = Omit<Issue, 'body_markdown'>;

export interface ListView {
  company_id: string;
  filter: ViewFilter;
  sought: AskedFilter;
  issues: readonly ListedIssue[];
  /** Where the page of the list begins; undefined for the first one. */
  cursor: string | undefined;
  next_cursor: string | null;
  /** Number of matching issues, and whether there are more than were counted. */
  total: { count: number; more: boolean };
  /** Labels by issue id. */
  labels: ReadonlyMap<string, readonly { id: string; name: string }[]>;
  choices: Choices;
  /** Names by id. */
  names: ReadonlyMap<string, string>;
  views: readonly SavedView[];
  can_write: boolean;
  error: string | null;
  /** Notice of what was done. */
  said: Html;
}

export const listPath = (company_id: string): string => `/companies/${company_id}/issues`;

/** A page of the list. */
export interface ListPlace extends Pick<ListView, 'company_id' | 'filter'> {
  cursor?: string | undefined;
}

/** Of a form on a page of the list, whose answer is that page again. */
export const actionPath = (
  { company_id, filter, cursor }: ListPlace,
  act = '',
  more: Readonly<Record<string, string>> = {},
): string => pathWith(`${listPath(company_id)}${act}`, filter, { ...(cursor && { cursor }), ...more });

const usual: readonly ViewColumn[] = ['status', 'priority', 'assignee', 'labels', 'updated'];

export function listBody(view: ListView): Html {
  const { company_id, filter, issues, can_write } = view;
  const here = listPath(company_id);
  const { general } = new FieldErrors(view.error, namedInBulk);
  const body =
    issues.length > 0
      ? html`<form
          class="card issue-list"
          method="post"
          action="${actionPath(view, '/changes')}"
          data-issue-list="${queryOf(filter)}"
        >
          <div class="rows">!${issueTable(view)}</div>
          !${when(can_write, () => bulkBar(view))}
        </form>`
      : nothing(view);
  return html`!${when(general, () => formError(view.error))}!${view.said}!${viewTabs({ ...view, layout: 'list' })}
    !${filterForm(here, 'list', view.sought, view.choices)}!${filtered(
      html`<div class="list-head small soft">
          <span>
            <span role="status">${totalWords(view.total)}</span>
            <span role="status"><a href="${pathWith(here, filter)}" data-new-issues hidden></a></span>
          </span>
          !${columnsForm(view)}
        </div>
        !${body}!${moreLink(pathWith(here, filter), view.next_cursor, 'Next page')}`,
    )}
    !${when(can_write, () => choiceTemplates(view.choices))}
    <p class="sr-only" role="status" aria-live="polite" id="list-said"></p>`;
}

function totalWords({ count, more }: ListView['total']): string {
  if (more) return t`more than ${inWords(count)} issues`;
  return plural(count, '# issue', '# issues');
}

function nothing({ company_id, filter, can_write }: ListView): Html {
  if (narrows(filter))
    return emptyState(
      'Nothing matches',
      html`No issues match. <a href="${listPath(company_id)}?all=yes">Show all</a>`,
    );
  if (!can_write) return emptyState('No issues yet', html`Members of the company write them.`);
  return emptyState(
    'No issues yet',
    html`<a href="${listPath(company_id)}/new">Write the first one</a> and give it to an agent: it starts
      right away.`,
  );
}

/** Chooses the table's columns; they are in the address, like the filter. */
function columnsForm({ company_id, filter }: ListView): Html {
  const shown = filter.columns ?? usual;
  const { columns: _columns, ...rest } = filter;
  const link = (column: ViewColumn): Html => {
    const next = viewColumns.filter((known) => (known === column) !== shown.includes(known));
    const href = pathWith(listPath(company_id), { ...rest, columns: next });
    return html`<li>
      <a href="${href}" !${attributes({ 'aria-current': shown.includes(column) ? 'true' : null })}
        >${words(column)}</a
      >
    </li>`;
  };
  return html`<details class="columns-menu">
    <summary>Columns</summary>
    <ul>
      !${each(viewColumns, link)}
    </ul>
  </details>`;
}

function issueTable(view: ListView): Html {
  return table('Issues', columnsOf(view), view.issues, { row: rowAttributes });
}

const rowAttributes = (issue: ListedIssue): Html =>
  attributes({ 'data-issue': issue.id, 'data-title': issue.title, tabindex: '-1' });

type RowView = Pick<ListView, 'company_id' | 'filter' | 'labels' | 'names' | 'can_write'>;

/** A single row, for the script: after a change by the reader or someone else. */
export const issueRow = (view: RowView, issue: ListedIssue): Html =>
  tableRow(columnsOf(view), issue, rowAttributes);

function columnsOf(view: RowView): Column<ListedIssue>[] {
  const shown = view.filter.columns ?? usual;
  const all = optionalColumns(view);
  return [
    ...(view.can_write ? [chooser] : []),
    titleColumn(view),
    ...viewColumns.filter((name) => shown.includes(name)).map((name) => all[name]),
  ];
}

const chooser: Column<ListedIssue> = {
  label: 'Select',
  kind: 'acts',
  head: () =>
    html`<label class="tick"
      ><input type="checkbox" aria-label="All on this page" autocomplete="off" data-choose-all
    /></label>`,
  cell: ({ id, identifier }) =>
    html`<label class="tick"
      ><input
        type="checkbox"
        name="issue"
        value="${id}"
        aria-label="Select ${identifier}"
        autocomplete="off"
        data-pick
    /></label>`,
};

const titleColumn = (view: RowView): Column<ListedIssue> => ({
  label: 'Issue',
  ...sortBy(view, 'title'),
  cell: (issue) =>
    html`<span class="identifier">${issue.identifier}</span>
      !${each(flagsOf(issue), (flag) => html`<span class="flag" data-flag="${flag}">${words(flag)}</span> `)}<a
        class="issue-title"
        href="/issues/${issue.id}"
        title="${issue.title}"
        >${issue.title}</a
      >`,
});

/** The same heading again reverses the order. */
function sortBy(
  { company_id, filter }: RowView,
  name: NonNullable<ViewFilter['sort']>,
): Pick<Column<ListedIssue>, 'sort'> {
  const is = (filter.sort ?? 'created_at') === name;
  const { reverse, ...rest } = filter;
  const turned = is && !reverse;
  const href = pathWith(listPath(company_id), { ...rest, sort: name, ...(turned && { reverse: true }) });
  const downwards = (name !== 'title') !== (reverse ?? false);
  const order = downwards ? 'descending' : 'ascending';
  return { sort: { href, order: is ? order : null } };
}

function optionalColumns(view: RowView): Record<ViewColumn, Column<ListedIssue>> {
  const { names, labels, can_write } = view;
  /** A cell that the script turns into a select; without script, the issue's page does the same. */
  const cell = (field: string, issue: ListedIssue, value: string | null, shown: Html): Html => {
    if (!can_write) return shown;
    const name = t`${words(field.replace(/_agent_id$|_id$/, ''))} of ${issue.identifier}`;
    return html`<button
      type="button"
      class="cell"
      data-edit="${field}"
      data-value="${value ?? ''}"
      data-name="${name}"
    >
      !${shown}<span class="sr-only">, ${name}</span>
    </button>`;
  };
  const named = (id: string | null): string => (id === null ? '' : (names.get(id) ?? ''));
  return {
    status: {
      label: 'Status',
      cell: (issue) => cell('status', issue, issue.status, status(issue.status)),
    },
    priority: {
      label: 'Priority',
      ...sortBy(view, 'priority'),
      cell: (issue) => cell('priority', issue, issue.priority, priority(issue.priority)),
    },
    assignee: {
      label: 'Assignee',
      cell: (issue) => {
        const name = named(issue.assignee_agent_id);
        const shown =
          name === ''
            ? html`<span class="soft">nobody</span>`
            : html`<span class="who">!${avatar(name)}${name}</span>`;
        return cell('assignee_agent_id', issue, issue.assignee_agent_id, shown);
      },
    },
    project: {
      label: 'Project',
      cell: (issue) => {
        const name = named(issue.project_id);
        const shown = name === '' ? html`<span class="soft">none</span>` : html`${name}`;
        return cell('project_id', issue, issue.project_id, shown);
      },
    },
    labels: {
      label: 'Labels',
      cell: ({ id }) =>
        html`<span class="labels"
          >!${each(labels.get(id) ?? [], ({ name }) => html`<span class="label">${name}</span>`)}</span
        >`,
    },
    created: {
      label: 'Created',
      ...sortBy(view, 'created_at'),
      cell: ({ created_at }) => timeAgo(created_at),
    },
    updated: {
      label: 'Changed',
      ...sortBy(view, 'updated_at'),
      cell: ({ updated_at }) => timeAgo(updated_at),
    },
  };
}

/** Its fields that choose out of the company's own. */
const namedInBulk = ['assignee_agent_id', 'project_id', 'add_label', 'remove_label'] as const;

const stays = (): Choice => ({ value: '', label: t`as it is` });
const none = (label: string): Choice => ({ value: 'none', label });

/**
 * Bulk actions. Without script they are below the list; with script they appear once something is selected. On a phone the
 * fields unfold: the style sheet reads the state of what is ahead of them, as for filters.
 */
function bulkBar(view: ListView): Html {
  const { choices, error } = view;
  const errors = new FieldErrors(error, namedInBulk);
  const named = (name: (typeof namedInBulk)[number], label: string, offer: Offer, ...first: Choice[]): Html =>
    choice({
      name,
      id: `bulk-${name}`,
      label,
      value: '',
      offer,
      fixed: [stays(), ...first],
      error: errors.of(name),
    });
  const field = (name: string, label: string, options: readonly Choice[]): Html =>
    select({ name, id: `bulk-${name}`, label, value: '', choices: [stays(), ...options] });
  return html`<fieldset class="bulk" data-bulk>
    <legend>Change the <span data-chosen>selected</span></legend>
    <div class="choosing" data-script-only>
      <button type="button" class="link small" data-choose="all">Select all</button>
      <button type="button" class="link small" data-choose="none">Clear</button>
    </div>
    <div class="row">
      <details class="bulk-more"><summary>Change</summary></details>
      !${field('status', t`Status`, listed(issueStatuses))}!${field('priority', t`Priority`, listed(priorities))}
      !${named('assignee_agent_id', t`Assignee`, choices.agents, none(t`nobody`))}
      !${named('project_id', t`Project`, choices.projects, none(t`none`))}
      !${named('add_label', t`Add label`, choices.labels)}!${named('remove_label', t`Remove label`, choices.labels)}
      <button>Change</button>
      <button class="danger" formaction="${actionPath(view, '/changes', { delete: 'yes' })}">
        Move to the trash
      </button>
    </div>
  </fieldset>`;
}

/** Templates for editing cells, once per page. */
function choiceTemplates({ agents, projects }: Choices): Html {
  const options = (choices: readonly Choice[]): Html =>
    each(choices, ({ value, label }) => html`<option value="${value}">${label}</option>`);
  const template = (name: string, choices: readonly Choice[]): Html =>
    html`<template data-choices="${name}"
      ><select class="small">
        !${options(choices)}
      </select></template
    >`;
  const named = (name: string, offer: Offer, nobody: string): Html =>
    offer.source === null
      ? template(name, [
          { value: '', label: nobody },
          ...offer.listed.map((one) => ({ value: one.id, label: one.name })),
        ])
      : html`<template data-choices="${name}"
          ><input
            type="text"
            autocomplete="off"
            placeholder="${nobody}"
            data-choices="${offer.source}?none=yes"
        /></template>`;
  return html`!${template('status', listed(issueStatuses))}!${template('priority', listed(priorities))}
  !${named('assignee_agent_id', agents, t`nobody`)}!${named('project_id', projects, t`none`)}`;
}
