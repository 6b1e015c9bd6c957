/** The filter of lists and boards of issues, as encoded in their addresses, and remembered per company. */
import {
  issueSorts,
  issueStatuses,
  type ListIssues,
  priorities,
  terminalStatuses,
  viewColumns,
  type ViewFilter,
} from '@acp/contract';
import type { BoardFilter } from '@acp/core';
import { invalid, isUuid } from '@acp/kernel';
import { readCookie } from '../../http/cookies.ts';
import { resolveQuery } from '../kit/choice-names.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import type { UiContext } from '../kit/ui-routes.ts';

const openStatuses = issueStatuses.filter((status) => !terminalStatuses.includes(status));
const COOKIE = 'issue_filter';
const REMEMBERED_MS = 90 * 86_400_000;
const NO_COLUMNS = 'none';

type Query = Readonly<Record<string, string>>;

/** Ignores invalid values: a mistyped address still shows issues. */
export function filterOf(query: Query): ViewFilter {
  const q = query.q?.replaceAll('\0', '').trim().slice(0, 200);
  const status = (query.status === 'open' ? openStatuses.join(',') : (query.status ?? '')).split(',');
  const statuses = issueStatuses.filter((known) => status.includes(known));
  const priority = priorities.find((known) => known === query.priority);
  const sort = issueSorts.find((known) => known === query.sort);
  const [assignee, project, goal, label] = [query.assignee, query.project, query.goal, query.label].map(
    (id) => (id && isUuid(id) ? id : undefined),
  );
  return {
    ...(q && { q }),
    ...(statuses.length > 0 && { status: statuses }),
    ...(priority && { priority }),
    ...(query.assignee === 'none' && { unassigned: true }),
    ...(assignee && { assignee_agent_id: assignee }),
    ...(project && { project_id: project }),
    ...(goal && { goal_id: goal }),
    ...(label && { label_id: label }),
    ...(sort && { sort }),
    ...(query.reverse === 'yes' && { reverse: true }),
    ...columnsOf(query),
  };
}

/** As many of them as scripts ask for at once. */
const MOST_ASKED = 100;

/** The issues that a part of the page is about. @throws invalid for what is no id, and for too many */
export function issuesAskedFor({ issues = '' }: Query): string[] {
  const ids = issues.split(',').filter(Boolean);
  if (ids.length > MOST_ASKED || !ids.every(isUuid))
    throw invalid('issues: up to 100 ids of issues, separated by commas');
  return ids;
}

/** The column of the title is always there: a reader who has hidden all others has chosen that. */
function columnsOf({ columns: asked }: Query): Pick<ViewFilter, 'columns'> {
  const columns = viewColumns.filter((known) => asked?.split(',').includes(known));
  return columns.length > 0 || asked === NO_COLUMNS ? { columns } : {};
}

/** The filter as query parameters, in a fixed order, so that equal filters give equal texts. */
export function queryOf(filter: ViewFilter): string {
  const { q, status, priority, sort, columns } = filter;
  const open = status?.join() === openStatuses.join();
  const given: Record<string, string | undefined> = {
    q,
    status: open ? 'open' : status?.join(','),
    priority,
    assignee: filter.unassigned ? 'none' : filter.assignee_agent_id,
    project: filter.project_id,
    goal: filter.goal_id,
    label: filter.label_id,
    sort,
    reverse: filter.reverse ? 'yes' : undefined,
    columns: columns?.length === 0 ? NO_COLUMNS : columns?.join(','),
  };
  const pairs = Object.entries(given).flatMap(([name, value]) =>
    value ? [[name, value] as [string, string]] : [],
  );
  return new URLSearchParams(pairs).toString();
}

/** A path with a filter and the given other query parameters. */
export function pathWith(
  path: string,
  filter: ViewFilter,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = [queryOf(filter), new URLSearchParams(more).toString()].filter((part) => part !== '');
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

/** Whether the filter hides issues; order and columns hide none. */
export function narrows({
  sort: _sort,
  reverse: _reverse,
  columns: _columns,
  ...filter
}: ViewFilter): boolean {
  return Object.keys(filter).length > 0;
}

export interface AskedFilter {
  filter: ViewFilter;
  /** About names that nothing has; they do not filter. */
  errors: FieldErrors;
  /** What the fields of a refused name say. */
  query: Query;
}

/** A filter whose address gives ids. */
export const plainly = (filter: ViewFilter): AskedFilter => ({
  filter,
  errors: new FieldErrors(null),
  query: {},
});

/** The filter of a page, which may name an agent, a project or a label instead of giving its id. */
export async function askedFilter(context: UiContext): Promise<AskedFilter> {
  const { query, error } = await resolveQuery(context, context.query);
  const filter = rememberedFilter({ ...context, query });
  return {
    filter,
    errors: new FieldErrors(error, ['assignee', 'project', 'goal', 'label']),
    query: context.query,
  };
}

/**
 * The filter of a page: the one in its address, else the reader's last one in this company, without its search text. An
 * address with `all` resets it.
 */
function rememberedFilter({ query, request, response, company_id }: UiContext): ViewFilter {
  const { cursor: _cursor, all, done: _done, ...asked } = query;
  const where = { path: `/companies/${company_id}`, httpOnly: true, sameSite: 'lax' } as const;
  if (all !== undefined) {
    response.clearCookie(COOKIE, where);
    return {};
  }
  if (Object.keys(asked).length === 0)
    return withoutText(filterOf(Object.fromEntries(new URLSearchParams(rememberedQuery(request)))));
  const filter = filterOf(asked);
  response.cookie(COOKIE, queryOf(withoutText(filter)), { ...where, maxAge: REMEMBERED_MS });
  return filter;
}

/** What somebody looked for once is not what they want to see from then on. */
const withoutText = ({ q: _q, ...filter }: ViewFilter): ViewFilter => filter;

function rememberedQuery(request: UiContext['request']): string {
  try {
    return decodeURIComponent(readCookie(request, COOKIE) ?? '');
  } catch {
    return '';
  }
}

export function toListQuery(filter: ViewFilter): ListIssues {
  const { status, assignee_agent_id, project_id, goal_id, label_id, columns: _columns, ...rest } = filter;
  return {
    ...rest,
    ...(status && { status: status.join(',') }),
    ...(assignee_agent_id && { assigneeAgentId: assignee_agent_id }),
    ...(project_id && { projectId: project_id }),
    ...(goal_id && { goalId: goal_id }),
    ...(label_id && { labelId: label_id }),
  };
}

/** Drops the statuses, which are the board's columns. */
export function toBoardFilter(filter: ViewFilter): BoardFilter {
  const { q, priority, unassigned, assignee_agent_id, project_id, goal_id, label_id } = filter;
  return { q, priority, unassigned, assignee_agent_id, project_id, goal_id, label_id };
}
