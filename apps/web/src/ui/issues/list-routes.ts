import {
  type Issue,
  type IssueChange,
  issueEndpoints,
  type ListIssues,
  type ViewFilter,
} from '@acp/contract';
import {
  countIssues,
  labelsOfIssues,
  listIssues,
  listTrash,
  listViews,
  MOST_COUNTED,
  namesOf,
  readBoardCards,
} from '@acp/core';
import { invalid } from '@acp/kernel';
import { companyPage } from '../kit/company-frame.ts';
import { offerOf } from '../kit/choice.ts';
import type { FormValues } from '../kit/form-values.ts';
import { timeAgo } from '../kit/format.ts';
import { each, html, type Html, plural, t, when } from '../kit/html.ts';
import { emptyState, postButton, toast } from '../kit/parts.ts';
import { moreLink, pageOf, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import type { Choices } from './filter-form.ts';
import {
  type AskedFilter,
  askedFilter,
  filterOf,
  issuesAskedFor,
  plainly,
  toListQuery,
} from './issue-filter.ts';
import { actionPath, issueRow, listBody, listPath, type ListPlace } from './list-page.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byIssue = { by: 'issue', param: 'issueId' } as const;

type ListContext = UiContext<'company'>;

/** What issues can be filtered by and given. @param filter what is chosen now */
export async function choicesOf(context: UiContext, filter: ViewFilter): Promise<Choices> {
  return {
    agents: await offerOf(context, 'agent', filter.assignee_agent_id),
    projects: await offerOf(context, 'project', filter.project_id),
    goals: filter.goal_id || context.query.goal ? await offerOf(context, 'goal', filter.goal_id) : null,
    labels: await offerOf(context, 'label', filter.label_id),
  };
}

/** Names of those that have the issues and of their projects, by id. */
async function namesFor(
  { tx, company_id }: UiContext,
  issues: readonly Pick<Issue, 'assignee_agent_id' | 'project_id'>[],
): Promise<ReadonlyMap<string, string>> {
  const ids = (field: 'assignee_agent_id' | 'project_id'): string[] => [
    ...new Set(issues.flatMap((issue) => issue[field] ?? [])),
  ];
  const agents = await namesOf(tx, company_id, 'agent', ids('assignee_agent_id'));
  const projects = await namesOf(tx, company_id, 'project', ids('project_id'));
  return new Map([...agents, ...projects].map(({ id, name }) => [id, name]));
}

interface Outcome {
  said?: Html;
  error?: string;
}

/** The first page if there is nothing any more on the one that is asked for. */
async function pageOfIssues({ tx, company_id, query }: ListContext, asked: ListIssues) {
  const { limit, cursor } = pageOf(query);
  const { items, next_cursor } = await listIssues(tx, company_id, {
    ...asked,
    limit,
    ...(cursor && { cursor }),
  });
  if (items.length > 0 || cursor === undefined) return { issues: items, next_cursor, cursor };
  const first = await listIssues(tx, company_id, { ...asked, limit });
  return { issues: first.items, next_cursor: first.next_cursor, cursor: undefined };
}

async function listPage(context: ListContext, sought: AskedFilter, outcome: Outcome = {}): Promise<Html> {
  const { filter } = sought;
  const { tx, user, company_id, query } = context;
  const asked = toListQuery(filter);
  const { issues, next_cursor, cursor } = await pageOfIssues(context, asked);
  // What fits on a page is not looked for once more.
  const counted =
    cursor === undefined && next_cursor === null
      ? issues.length
      : await countIssues(tx, company_id, asked, MOST_COUNTED + 1);
  const labels = await labelsOfIssues(
    tx,
    issues.map(({ id }) => id),
  );
  const here = listPath(company_id);
  return companyPage(context, {
    title: t`Issues`,
    active: here,
    wide: true,
    actions: when(
      mayWrite(context),
      () =>
        html`<a class="button quiet" href="${here}/deleted">Deleted</a>
          <a class="button" href="${here}/new">New issue</a>`,
    ),
    body: listBody({
      company_id,
      filter,
      sought,
      issues,
      cursor,
      next_cursor,
      total: { count: Math.min(counted, MOST_COUNTED), more: counted > MOST_COUNTED },
      labels,
      choices: await choicesOf(context, filter),
      names: await namesFor(context, issues),
      views: (await listViews(tx, user, company_id, {})).items,
      can_write: mayWrite(context),
      error: outcome.error ?? null,
      said: outcome.said ?? said(query.done),
    }),
  });
}

/** What was done to the views. */
export const said = (done: string | undefined): Html =>
  when(done === 'kept' && t`The view has been saved.`, (text) => toast(text));

/** The changes requested in the bulk bar, for each selected issue. */
function changesOf(form: FormValues, { query }: UiContext): { changes: IssueChange[] } {
  const chosen = form.all('issue');
  if (chosen.length === 0) throw invalid('choose an issue first');
  if (query.delete !== undefined) return { changes: chosen.map((issue_id) => ({ issue_id, deleted: true })) };
  const cleared = (name: string): string | null | undefined =>
    form.text(name) === 'none' ? null : form.given(name);
  const set = Object.entries({
    status: form.given('status'),
    priority: form.given('priority'),
    assignee_agent_id: cleared('assignee_agent_id'),
    project_id: cleared('project_id'),
  }).filter(([, value]) => value !== undefined);
  const [added, removed] = [form.given('add_label'), form.given('remove_label')];
  if (set.length === 0 && !added && !removed) throw invalid('choose what to change');
  return {
    changes: chosen.map((issue_id) => ({
      issue_id,
      set: Object.fromEntries(set),
      ...(added && { add_label_ids: [added] }),
      ...(removed && { remove_label_ids: [removed] }),
    })),
  };
}

/** Where the reader of the list is. */
const placeIn = ({ company_id, query }: ListContext): ListPlace => ({
  company_id,
  filter: filterOf(query),
  cursor: pageOf(query).cursor,
});

/** A button that undoes an action's changes. */
function undoButton(place: ListPlace, undo: readonly IssueChange[], label = t`Undo`): Html {
  if (undo.length === 0) return '';
  const fields = { changes: JSON.stringify(undo) };
  return postButton(actionPath(place, '/undo'), label, {
    class: 'quiet small',
    fields,
  });
}

const counted = (changed: number): string => plural(changed, '# issue', '# issues');

const deletedPage = async (context: ListContext): Promise<Html> => {
  const { tx, company_id, query } = context;
  const { items, next_cursor } = await listTrash(tx, { ...pageOf(query), company_id, type: 'issue' });
  const here = listPath(company_id);
  const body =
    items.length === 0
      ? emptyState('Nothing is deleted', html`Deleted issues stay here for a while and can be restored.`)
      : html`<div class="card">
          !${table(
            'Deleted issues',
            [
              { label: 'Issue', cell: ({ name }) => html`${name}` },
              { label: 'Deleted', cell: ({ deleted_at }) => timeAgo(deleted_at) },
              {
                label: 'Bring back',
                kind: 'acts',
                cell: ({ entity_id }) =>
                  undoButton(
                    { company_id, filter: {} },
                    [{ issue_id: entity_id, deleted: false }],
                    t`Bring it back`,
                  ),
              },
            ],
            items,
          )}!${moreLink(`${here}/deleted`, next_cursor, 'Older ones')}
        </div>`;
  return companyPage(context, {
    title: t`Deleted issues`,
    active: here,
    trail: [{ label: t`Issues`, path: here }],
    body,
  });
};

/** Rows with the columns that the page shows. */
async function rowsPart(context: UiContext, ids: readonly string[]): Promise<Html> {
  const { tx, company_id, query } = context;
  const issues = await readBoardCards(tx, company_id, ids, {});
  const names = await namesFor(context, issues);
  const labels = new Map(issues.map((issue) => [issue.id, issue.labels]));
  const view = { company_id, filter: filterOf(query), labels, names, can_write: mayWrite(context) };
  return each(issues, (issue) => issueRow(view, issue));
}

export const issueListRoutes: UiRoute[] = [
  page('/companies/{companyId}/issues', { scope: byCompany, role: 'viewer' }, async (context) =>
    listPage(context, await askedFilter(context)),
  ),
  page('/companies/{companyId}/issues/deleted', { scope: byCompany, role: 'member' }, deletedPage),
  // Those that have changed, for the script.
  page('/companies/{companyId}/issues/part/rows', { scope: byCompany, role: 'viewer' }, async (context) =>
    rowsPart(context, issuesAskedFor(context.query)),
  ),
  // For open pages of the previous release: to them, a row that is not found is one of a deleted issue.
  page('/issues/{issueId}/row', { scope: byIssue, role: 'viewer' }, async (context) =>
    rowsPart(context, [context.subject.id]),
  ),
  action('/companies/{companyId}/issues/changes', issueEndpoints.change, {
    read: changesOf,
    next: (context, { changed, undo }) => {
      const place = placeIn(context);
      const done =
        context.query.delete === undefined
          ? plural(changed, '# issue changed.', '# issues changed.')
          : plural(changed, '# issue moved to the trash.', '# issues moved to the trash.');
      const text = changed === 0 ? t`Nothing to change.` : done;
      return listPage(context, plainly(place.filter), {
        said: toast(text, { undo: undoButton(place, undo), address: actionPath(place) }),
      });
    },
    failed: (context, error) => listPage(context, plainly(filterOf(context.query)), { error }),
  }),
  action('/companies/{companyId}/issues/undo', issueEndpoints.change, {
    read: (form) => ({ changes: form.json('changes') as IssueChange[] }),
    next: (context, { changed }) => {
      const place = placeIn(context);
      return listPage(context, plainly(place.filter), {
        said: toast(t`${counted(changed)} changed back.`, { address: actionPath(place) }),
      });
    },
    failed: (context, error) => listPage(context, plainly(filterOf(context.query)), { error }),
  }),
  action('/issues/{issueId}/delete', issueEndpoints.delete, {
    // The issue's page is gone: the list says so, and offers an undo.
    next: (context) => {
      const { company_id, subject } = context;
      const undo = undoButton({ company_id, filter: {} }, [{ issue_id: subject.id, deleted: false }]);
      return listPage({ ...context, subject: undefined }, plainly({}), {
        said: toast(t`${subject.identifier} is in the trash.`, { undo, address: listPath(company_id) }),
      });
    },
  }),
];
