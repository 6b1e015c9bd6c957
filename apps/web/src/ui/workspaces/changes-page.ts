/** What an issue's programs have changed, with review comments and actions. */
import type { ReviewComment, Workspace, WorkspaceCommit, WorkspaceDiff, WorkspaceFile } from '@acp/contract';
import { count, timeAgo, words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { plural, say, t } from '../kit/language.ts';
import { emptyState, formError, notice, status, textarea } from '../kit/parts.ts';
import { type Column, table } from '../kit/table.ts';
import { actsPart, type ActsView } from './acts.ts';
import { anchorOf, changedLines, diffFiles, type DiffView, fileAddress, remark } from './diff.ts';

export interface ChangesView {
  workspace: Workspace;
  /** The diffs on this page. */
  diffs: readonly WorkspaceDiff[];
  /** All changed files, up to the list's limit. */
  files: readonly WorkspaceFile[];
  commits: readonly WorkspaceCommit[];
  diff: DiffView;
  acts: ActsView;
  /** Whether the issue is given to somebody, who would make other changes. */
  assigned: boolean;
  /** The run to which the changes are limited; null: all. */
  run_id: string | null;
  /** The only file shown; null: all. */
  path: string | null;
  next_cursor: string | null;
  done: string | null;
  error: string | null;
  /** The text of a rejected verdict. */
  draft: string;
}

export const nothingYet = (): Html =>
  emptyState(
    'Nothing has changed yet',
    html`Programs that work on this issue get a folder for it. What they change in it appears here.`,
  );

export function changesBody(view: ChangesView): Html {
  const { workspace, diffs, diff, run_id, path, next_cursor } = view;
  const here = `/issues/${workspace.issue_id}/changes`;
  const alone = path !== null;
  const whole = run_id === null && !alone;
  const next = new URLSearchParams(diff.query);
  if (next_cursor !== null) next.set('cursor', next_cursor);
  return html`!${notice(view.done)}!${formError(view.error)}
    !${when(run_id, (id) => html`<p class="notice">What <a href="/runs/${id}">one run</a> has changed. <a href="${here}">All changes</a></p>`)}
    !${when(path, () => html`<p><a href="${here}${withoutPath(diff.query)}">All changed files</a></p>`)}
    !${when(
      whole,
      () =>
        html`<div
          class="card"
          data-live="issue:${workspace.issue_id}"
          data-source="${here}/part/state?shown=${workspace.last_run_id ?? ''}"
        >
          !${workspaceState(workspace, view.acts)}
        </div>`,
    )}
    !${when(whole && view.commits.length > 0, () => commitList(view.commits, workspace.commit_count))}
    <div class="row spread">
      <h2>${fileWords(view)}</h2>
      <p class="small">!${layoutLinks(diff, here)}</p>
    </div>
    !${when(whole && view.files.length > 1, () => fileList(view))}
    !${diffs.length === 0 ? nothingYet() : diffFiles(diffs, diff, alone)}
    !${when(next_cursor, () => html`<p><a class="button" href="${here}?${next.toString()}">More files</a></p>`)}
    !${when(whole, () => lostRemarks(view))}
    !${when(whole && diff.can_write && workspace.state !== 'empty', () => reviewForm(view))}`;
}

/** A fragment of its own, kept up to date while the page is open. @param shown the run whose changes the page shows */
export function workspaceState(
  workspace: Workspace,
  acts: ActsView,
  shown = workspace.last_run_id ?? '',
): Html {
  const { branch, base_branch, kind, error, pushed_at, pushed_commit, head_commit } = workspace;
  const fact = (name: string, value: Html): Html =>
    html`<dt>${name}</dt>
      <dd>!${value}</dd>`;
  const isNewer = (workspace.last_run_id ?? '') !== shown;
  const pushed = pushed_commit === null ? t`no` : pushed_commit === head_commit ? t`all of it` : t`in part`;
  return html`!${when(isNewer, () => html`<p class="notice"><a href="/issues/${workspace.issue_id}/changes">Another run has ended since: show its changes</a></p>`)}
    !${when(error, (text) => html`<p class="error">${say(text)}</p>`)}
    <dl class="facts wide">
      !${kind === 'repository' ? fact(t`Branch`, base_branch === null ? html`<code>${branch ?? '–'}</code> from the default branch` : html`<code>${branch ?? '–'}</code> from <code>${base_branch}</code>`) : fact(t`Folder`, t`of plain files: the project names no repository`)}
      !${fact(t`Review`, status(workspace.review_state))} !${fact(t`Check`, checkPart(workspace))}
      !${kind === 'repository' ? fact(t`Pushed`, html`${pushed} !${when(pushed_at, timeAgo)}`) : ''}
      !${when(workspace.has_uncommitted, () => fact(t`Not committed`, t`partly: a push does not include it, and the next successful run commits it`))}
      !${when(workspace.state === 'removed', () => fact(t`Folder`, html`removed !${timeAgo(workspace.removed_at)}`))}
    </dl>
    !${actsPart(workspace, acts)}`;
}

function checkPart({ check_status, check_output, checked_at }: Workspace): Html {
  if (check_status === 'none') return html`<span class="soft">not run</span>`;
  return html`!${status(check_status)} !${when(checked_at, timeAgo)}
  !${when(
    check_output,
    (text) =>
      html`<details data-fold="check">
        <summary class="small">What it wrote</summary>
        <pre class="wrapped">${text}</pre>
      </details>`,
  )}`;
}

function fileWords({ workspace, diffs, path, run_id }: ChangesView): string {
  if (path !== null) return t`Changes of a file`;
  if (run_id !== null) return diffs.length === 0 ? t`Changed files` : t`Files that the run changed`;
  const { file_count, truncated } = workspace;
  if (truncated) return t`At least ${count(file_count)} changed files, not all of them shown`;
  return plural(file_count, '# changed file', '# changed files');
}

function layoutLinks({ split, query }: DiffView, here: string): Html {
  const address = (view: string): string => {
    const params = new URLSearchParams(query);
    params.set('view', view);
    return `${here}?${params.toString()}`;
  };
  const link = (label: string, view: string, active: boolean): Html =>
    html`<a href="${address(view)}" !${attributes({ 'aria-current': active ? 'true' : null })}>${label}</a>`;
  return html`<span class="diff-views"
    >!${link(t`One column`, 'unified', !split)} · !${link(t`Two columns`, 'split', split)}</span
  >`;
}

function withoutPath(query: string): string {
  const params = new URLSearchParams(query);
  params.delete('path');
  return params.size === 0 ? '' : `?${params.toString()}`;
}

const commitColumns: readonly Column<WorkspaceCommit>[] = [
  { label: 'Commit', cell: ({ sha }) => html`<code title="${sha}">${sha.slice(0, 8)}</code>` },
  { label: 'What', cell: ({ subject }) => html`${subject}` },
  { label: 'Who', cell: ({ author_name }) => html`${author_name}` },
  { label: 'When', cell: ({ committed_at }) => timeAgo(committed_at) },
];

function commitList(commits: readonly WorkspaceCommit[], total: number): Html {
  const more = total - commits.length;
  return html`<details class="card">
    <summary>${plural(total, '# commit', '# commits')}</summary>
    !${table('Commits', commitColumns, commits)}
    !${when(more > 0, () => html`<p class="soft">and ${count(more)} before them</p>`)}
  </details>`;
}

/** Links to each file: further down, or on a page of its own. */
function fileList({ workspace, files, diffs, diff }: ChangesView): Html {
  const here = new Map(diffs.map((file) => [file.path, anchorOf(file)]));
  const commented = new Map(
    [...Map.groupBy(diff.comments, ({ path }) => path)].map(([path, said]) => [
      path,
      said.filter(({ status: state }) => state === 'open').length,
    ]),
  );
  const row = (file: WorkspaceFile): Html => {
    const anchor = here.get(file.path);
    const address =
      anchor === undefined ? fileAddress(workspace.issue_id, file.path, diff.query) : `#${anchor}`;
    const open = commented.get(file.path) ?? 0;
    return html`<li>
      <a class="path grow" href="${address}">${file.path}</a>
      !${when(open > 0, () => html`<span class="small">${open} open</span>`)}
      !${changedLines(file.additions, file.deletions)}
    </li>`;
  };
  return html`<details class="card" !${files.length <= 20 ? 'open' : ''}>
    <summary>Files</summary>
    <ul class="list">
      !${each(files, row)}
    </ul>
    !${when(workspace.file_count > files.length, () => html`<p class="soft">and ${count(workspace.file_count - files.length)} more</p>`)}
  </details>`;
}

/** Comments on files that are no longer changed. */
function lostRemarks({ files, workspace, diff }: ChangesView): Html {
  // If the list is incomplete, it is unknown which files are no longer changed.
  if (workspace.file_count > files.length) return '';
  const known = new Set(files.map(({ path }) => path));
  const lost = diff.comments.filter(({ path }) => !known.has(path));
  if (lost.length === 0) return '';
  return html`<section class="card">
    <h2>On files that are no longer changed</h2>
    !${each(
      lost,
      (comment: ReviewComment) =>
        html`<p><code>${comment.path}</code></p>
          !${remark(comment, diff, t`was`)}`,
    )}
  </section>`;
}

function reviewForm({ workspace, diff, draft, assigned }: ChangesView): Html {
  const open = diff.comments.filter(({ status: state }) => state === 'open').length;
  const wakes =
    open === 0
      ? t`Asking for changes wakes the assignee.`
      : plural(
          open,
          'Asking for changes wakes the assignee, who receives the open line comment.',
          'Asking for changes wakes the assignee, who is told the # open comments on lines.',
        );
  const hint = assigned ? wakes : t`Nobody is assigned who would make other changes.`;
  return html`<form class="card" method="post" action="/issues/${workspace.issue_id}/changes/review">
    <h2>Review</h2>
    !${textarea({ name: 'body_markdown', id: 'review', label: 'Your review', rows: 3, value: draft, hint })}
    <div class="buttons">
      <button name="verdict" value="approve">Approve</button>
      <button class="quiet" name="verdict" value="request_changes">Ask for changes</button>
    </div>
  </form>`;
}

/** Card for the issue's page. */
export function changesCard(workspace: Workspace | null): Html {
  if (workspace === null || workspace.state === 'empty') return '';
  const { issue_id, file_count, additions, deletions, branch, check_status, review_state, error } = workspace;
  return html`<section class="card" aria-label="Changes">
    <h2><a href="/issues/${issue_id}/changes">Changes</a></h2>
    !${when(error, (text) => html`<p class="error">${say(text)}</p>`)}
    <p>${plural(file_count, '# file', '# files')} !${changedLines(additions, deletions)}</p>
    !${when(branch, (name) => html`<p class="small"><code class="address">${name}</code></p>`)}
    <p class="labels">
      !${when(review_state !== 'none', () => html`<span class="small">review</span> !${status(review_state)}`)}
      !${when(check_status !== 'none', () => html`<span class="small">check</span> !${status(check_status)}`)}
      !${when(review_state === 'none' && check_status === 'none', () => html`<span class="soft small">${words('not_reviewed')}</span>`)}
    </p>
  </section>`;
}
