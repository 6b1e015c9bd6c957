import {
  type ReviewComment,
  workspaceActionEndpoints as acts,
  workspaceEndpoints as rows,
} from '@acp/contract';
import {
  findWorkspace,
  agentOutlinesById,
  listChangedFiles,
  listCommits,
  listDiffs,
  listReviewComments,
  listWorkProducts,
  listWorkspaceActions,
  mayDeleteReviewComment,
  presentWorkspace,
} from '@acp/core';
import type { Page } from '@acp/db';
import { isUuid } from '@acp/kernel';
import type { FormValues } from '../kit/form-values.ts';
import { companyPage } from '../kit/company-frame.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { issueTabs } from '../issues/issue-tabs.ts';
import type { ActsView } from './acts.ts';
import { changesBody, type ChangesView, nothingYet, workspaceState } from './changes-page.ts';

const byIssue = { by: 'issue', param: 'issueId' } as const;
type IssueContext = UiContext<'issue'>;

/** Maximum number of files listed next to the diffs. */
const MOST_FILES = 200;
const MOST_COMMITS = 50;

const done: Record<string, string> = texts({
  approve: 'It is approved.',
  request_changes: 'The assignee is asked for changes.',
  unassigned: 'Changes are asked for, but nobody is assigned who would make them.',
});

interface Wanted {
  run_id: string | null;
  path: string | null;
  cursor: string | undefined;
  split: boolean;
}

/** Invalid values in the address are ignored. */
const wantedOf = ({ run = '', path = '', cursor, view }: UiContext['query']): Wanted => ({
  run_id: isUuid(run) ? run : null,
  path: path === '' ? null : path,
  cursor,
  split: view === 'split',
});

/** The query that leads to the same view. */
function queryOf({ run_id, path, cursor, split }: Wanted): string {
  const params = new URLSearchParams();
  if (run_id !== null) params.set('run', run_id);
  if (path !== null) params.set('path', path);
  if (cursor !== undefined) params.set('cursor', cursor);
  if (split) params.set('view', 'split');
  return params.size === 0 ? '' : `?${params.toString()}`;
}

/** Only the newest action is shown: the results of earlier ones speak for themselves. */
async function actsOf(context: IssueContext): Promise<ActsView> {
  const { tx, subject } = context;
  const { items: actions } = await listWorkspaceActions(tx, subject, { limit: 1 });
  const { items: products } = await listWorkProducts(tx, subject, { limit: 200 });
  return {
    actions,
    pull_requests: products.filter(({ type }) => type === 'pull_request'),
    can_write: mayWrite(context),
  };
}

/** All of them, since each belongs to its line; an issue has a thousand at most. */
async function commentsOf({ tx, subject }: IssueContext): Promise<ReviewComment[]> {
  const comments: ReviewComment[] = [];
  let cursor: string | null = null;
  do {
    const part: Page<ReviewComment> = await listReviewComments(
      tx,
      subject,
      cursor === null ? {} : { cursor },
    );
    comments.push(...part.items);
    cursor = part.next_cursor;
  } while (cursor !== null);
  return comments;
}

type Failure = Partial<Pick<ChangesView, 'error' | 'draft'>>;

async function loadView(context: IssueContext, failure: Failure): Promise<ChangesView | undefined> {
  const { tx, subject, company_id, query } = context;
  const workspace = await findWorkspace(tx, subject);
  if (workspace === undefined) return undefined;
  const wanted = wantedOf(query);
  const { run_id, path, cursor } = wanted;
  const of = run_id === null ? {} : { run_id };
  const diffs = await listDiffs(tx, workspace, {
    ...of,
    ...(path === null ? {} : { path }),
    ...(cursor === undefined ? {} : { cursor }),
  });
  const whole = run_id === null && path === null;
  const files = whole ? await listChangedFiles(tx, workspace, { limit: MOST_FILES }) : null;
  const commits = whole ? await listCommits(tx, workspace, { limit: MOST_COMMITS }) : null;
  const comments = run_id === null ? await commentsOf(context) : [];
  const agents = await agentOutlinesById(
    tx,
    company_id,
    comments.map(({ author_agent_id }) => author_agent_id),
  );
  const names = new Map(agents.map(({ id, name }) => [id, name]));
  return {
    workspace: presentWorkspace(workspace),
    diffs: diffs.items,
    files: files?.items ?? [],
    commits: commits?.items ?? [],
    diff: {
      issue_id: subject.id,
      split: wanted.split,
      query: queryOf(wanted),
      comments,
      nameOf: ({ author_agent_id: id, author_user_name }) =>
        id === null ? (author_user_name ?? t`somebody`) : (names.get(id) ?? t`an agent`),
      can_write: mayWrite(context),
      mayDelete: (comment) => mayDeleteReviewComment(context.user, comment),
      frozen: run_id !== null,
    },
    acts: await actsOf(context),
    assigned: subject.assignee_agent_id !== null,
    run_id,
    path,
    next_cursor: diffs.next_cursor,
    done: done[query.done ?? ''] ?? null,
    error: null,
    draft: '',
    ...failure,
  };
}

async function changesPage(context: IssueContext, failure: Failure = {}): Promise<Html> {
  const { subject, company_id } = context;
  const view = await loadView(context, failure);
  const board = { label: t`Board`, path: `/companies/${company_id}/board` };
  const here = `/issues/${subject.id}/changes`;
  return companyPage(context, {
    title: t`Changes of ${subject.identifier}`,
    active: board.path,
    trail: [board, { label: subject.identifier, path: `/issues/${subject.id}` }],
    body: html`!${issueTabs(subject.id, here, true)}!${view === undefined ? nothingYet() : changesBody(view)}`,
  });
}

const failed = (context: IssueContext, error: string, form: FormValues): Promise<Html> =>
  changesPage(context, { error, draft: form.has('verdict') ? form.text('body_markdown') : '' });

const back = ({ subject }: IssueContext): string => `/issues/${subject.id}/changes`;

const again = (issue_id: string, query: UiContext['query'], anchor = ''): string =>
  `/issues/${issue_id}/changes${queryOf(wantedOf(query))}${anchor}`;

export const changesRoutes: UiRoute[] = [
  page('/issues/{issueId}/changes', { scope: byIssue, role: 'viewer' }, (c) => changesPage(c)),
  page('/issues/{issueId}/changes/part/state', { scope: byIssue, role: 'viewer' }, async (c) => {
    const workspace = await findWorkspace(c.tx, c.subject);
    if (workspace === undefined) return '';
    return workspaceState(presentWorkspace(workspace), await actsOf(c), c.query.shown ?? '');
  }),
  action('/issues/{issueId}/changes/review', rows.review, {
    read: (form) => ({
      verdict: form.text('verdict') as 'approve',
      body_markdown: form.cleared('body_markdown'),
    }),
    next: (c, _, form) => {
      const verdict = form.text('verdict');
      const isHeard = verdict === 'approve' || c.subject.assignee_agent_id !== null;
      return `${back(c)}?done=${isHeard ? verdict : 'unassigned'}`;
    },
    failed,
  }),
  action('/issues/{issueId}/changes/push', acts.push, { read: () => ({}), next: back, failed }),
  action('/issues/{issueId}/changes/pull-request', acts.openPullRequest, {
    read: (form) => ({
      title: form.given('title'),
      body_markdown: form.cleared('body_markdown'),
      draft: form.checked('draft'),
    }),
    next: back,
    failed,
  }),
  action('/issues/{issueId}/changes/merge', acts.merge, {
    read: (form) => ({ method: form.given('method') as 'merge' | undefined }),
    next: back,
    failed,
  }),
  action('/issues/{issueId}/review-comments', rows.createComment, {
    read: (form) => ({
      path: form.text('path'),
      line: form.number('line')!,
      side: form.given('side') as 'new' | 'old' | undefined,
      line_text: form.text('line_text') === '' ? null : form.text('line_text'),
      body_markdown: form.text('body_markdown'),
    }),
    next: (c, { id }) => again(c.subject.id, c.query, `#review-${id}`),
    failed,
  }),
  action('/review-comments/{reviewCommentId}/resolve', rows.updateComment, {
    read: () => ({ status: 'resolved' as const }),
    next: (c) => again(c.subject.issue_id, c.query, `#review-${c.subject.id}`),
  }),
  action('/review-comments/{reviewCommentId}/reopen', rows.updateComment, {
    read: () => ({ status: 'open' as const }),
    next: (c) => again(c.subject.issue_id, c.query, `#review-${c.subject.id}`),
  }),
  action('/review-comments/{reviewCommentId}/delete', rows.deleteComment, {
    next: (c) => again(c.subject.issue_id, c.query),
  }),
];
