/** Changed files in readable form: in one column or two, with review comments below the lines. */
import type { ReviewComment, WorkspaceDiff } from '@acp/contract';
import { timeAgo, words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { plural, t } from '../kit/language.ts';
import { markdown } from '../kit/markdown.ts';
import { input, postButton, select, textarea } from '../kit/parts.ts';
import { DiffColours, type LineHtml } from './diff-colours.ts';
import { type DiffLine, type DiffPair, inPairs, readPatch } from './read-patch.ts';

export interface DiffView {
  issue_id: string;
  split: boolean;
  /** Query that leads back to the same view: `?…` or ''. */
  query: string;
  /** Comments on all files; outdated ones, whose line has changed, are shown above their file. */
  comments: readonly ReviewComment[];
  nameOf: (comment: ReviewComment) => string;
  can_write: boolean;
  mayDelete: (comment: ReviewComment) => boolean;
  /** Whether commenting is disabled: the changes of a single run are history. */
  frozen: boolean;
}

/** Maximum number of lines per page; a file shown alone may have more. */
const PAGE_LINES = 3000;
const FILE_LINES = 800;
const ALONE_LINES = 20_000;

/** @param alone whether the page shows only this file */
export function diffFiles(files: readonly WorkspaceDiff[], view: DiffView, alone: boolean): Html {
  let left = alone ? ALONE_LINES : PAGE_LINES;
  const colours = new DiffColours();
  return each(files, (file) => {
    const { lines, left_out } = readPatch(file.patch ?? '', alone ? left : Math.min(left, FILE_LINES));
    left -= lines.length;
    return fileCard(file, { lines, left_out, text: colours.of(file.path, lines) }, view);
  });
}

const signs: Record<DiffLine['kind'], string> = {
  hunk: '',
  context: ' ',
  added: '+',
  removed: '-',
  note: '\\',
};

export const anchorOf = ({ id }: { id: string }): string => `file-${id}`;

export const fileAddress = (issue_id: string, path: string, query: string): string => {
  const params = new URLSearchParams(query);
  params.delete('cursor');
  params.set('path', path);
  return `/issues/${issue_id}/changes?${params.toString()}`;
};

function fileCard(
  file: WorkspaceDiff,
  { lines, left_out, text }: ReturnType<typeof readPatch> & { text: LineHtml },
  view: DiffView,
): Html {
  const { path, old_path, status, additions, deletions, binary, patch, patch_truncated } = file;
  const comments = view.comments.filter((comment) => comment.path === path);
  const { placed, outdated } = placeComments(lines, comments);
  const alone = fileAddress(view.issue_id, path, view.query);
  const empty = binary ? t`A binary file.` : patch === null ? t`There are no changes to show.` : null;
  return html`<section class="card diff-file" id="${anchorOf(file)}" aria-label="${path}">
    <h3>
      <span class="path"
        >!${when(old_path, (before) => html`<span class="soft">${before} → </span>`)}<a href="${alone}"
          >${path}</a
        ></span
      >
      !${when(status !== 'modified', () => html`<span class="soft small">${words(status)}</span>`)}
      !${changedLines(additions, deletions)}
    </h3>
    !${each(outdated, (comment) => remark(comment, view, t`outdated`))}
    !${when(empty, (why) => html`<p class="soft">${why}</p>`)}
    !${when(lines.length > 0, () => diffTable(path, lines, { ...view, placed, text }))}
    !${when(left_out > 0, () => html`<p><a href="${alone}">${plural(left_out, '# more line', '# more lines')}</a></p>`)}
    !${when(patch_truncated, () => html`<p class="soft">The diff is cut off here: the branch has all of it.</p>`)}
    !${when(view.can_write && !view.frozen && !binary, () => remarkForm(file, view))}
  </section>`;
}

export function changedLines(additions: number, deletions: number): Html {
  return html`<span class="changed-lines"
    ><span class="added">+${additions}</span> <span class="removed">−${deletions}</span></span
  >`;
}

const key = (side: string, line: number): string => `${side} ${line}`;

function placeComments(lines: readonly DiffLine[], comments: readonly ReviewComment[]) {
  const shown = new Map<string, string>();
  for (const line of lines) {
    if (line.old !== null) shown.set(key('old', line.old), line.text);
    if (line.new !== null) shown.set(key('new', line.new), line.text);
  }
  const isHere = ({ side, line, line_text }: ReviewComment): boolean => {
    const text = shown.get(key(side, line));
    return text !== undefined && (line_text === null || line_text.trim() === text.trim());
  };
  return {
    placed: Map.groupBy(comments.filter(isHere), ({ side, line }) => key(side, line)),
    outdated: comments.filter((comment) => !isHere(comment)),
  };
}

type Placed = ReturnType<typeof placeComments>['placed'];

interface FileView extends DiffView {
  placed: Placed;
  text: LineHtml;
}

function diffTable(path: string, lines: readonly DiffLine[], view: FileView): Html {
  const rows = view.split
    ? each(inPairs(lines), (pair) => pairRows(pair, view))
    : each(lines, (line) => lineRows(line, view));
  const numbers = html`<col class="n" />`;
  return html`<table class="${view.split ? 'diff split' : 'diff'}" aria-label="Changes of ${path}">
    <colgroup>
      !${numbers}!${view.split ? '<col />' : ''}!${numbers}
      <col />
    </colgroup>
    <tbody>
      !${rows}
    </tbody>
  </table>`;
}

const said = (placed: Placed, line: DiffLine | null): ReviewComment[] =>
  line === null
    ? []
    : [
        ...(line.old === null ? [] : (placed.get(key('old', line.old)) ?? [])),
        ...(line.new === null ? [] : (placed.get(key('new', line.new)) ?? [])),
      ];

const saidRow = (comments: readonly ReviewComment[], columns: number, view: DiffView): Html =>
  comments.length === 0
    ? ''
    : html`<tr class="said">
        <td colspan="${columns}">!${each(comments, (comment) => remark(comment, view))}</td>
      </tr>`;

// A page may contain thousands of rows: no white space that is not displayed.
function lineRows(line: DiffLine, view: FileView): Html {
  const { kind, old: before, new: after, text } = line;
  if (kind === 'hunk')
    return html`<tr class="hunk">
      <td colspan="3">${text}</td>
    </tr>`;
  return (
    html`<tr class="${kind}">
      <td class="n" data-side="old">${before ?? ''}</td>
      <td class="n" data-side="new">${after ?? ''}</td>
      <td class="code" data-sign="${signs[kind]}">!${view.text(line)}</td>
    </tr>` + saidRow(said(view.placed, line), 3, view)
  );
}

function pairRows({ before, after }: DiffPair, view: FileView): Html {
  const { placed } = view;
  if (before?.kind === 'hunk')
    return html`<tr class="hunk">
      <td colspan="4">${before.text}</td>
    </tr>`;
  const half = (line: DiffLine | null, side: 'old' | 'new'): Html =>
    line === null
      ? html`<td class="n"></td>
          <td class="code none"></td>`
      : html`<td class="n ${line.kind}" data-side="${side}">${line[side] ?? ''}</td>
          <td class="code ${line.kind}" data-sign="${signs[line.kind]}">!${view.text(line)}</td>`;
  const comments =
    before === after ? said(placed, before) : [...said(placed, before), ...said(placed, after)];
  return (
    html`<tr>
      !${half(before, 'old')}!${half(after, 'new')}
    </tr>` + saidRow(comments, 4, view)
  );
}

/** A review comment on a line, with the available actions. */
export function remark(comment: ReviewComment, view: DiffView, state?: string): Html {
  const { id, line, side, line_text, status } = comment;
  const open = status === 'open';
  const act = (name: string, label: string): Html =>
    postButton(`/review-comments/${id}/${name}${view.query}`, label, { class: 'link small' });
  return html`<article class="remark" id="review-${id}" !${attributes({ 'data-status': status })}>
    <p class="comment-head">
      <strong>${view.nameOf(comment)}</strong>
      <span class="soft small">!${timeAgo(comment.created_at)}</span>
      !${when(state, (text) => html`<span class="soft small">${text}: ${side === 'old' ? t`line ${line} before` : t`line ${line}`}</span>`)}
      !${when(!open, () => html`<span class="soft small">resolved</span>`)}
      <span class="grow"></span>
      !${when(view.can_write, () => html`!${act(open ? 'resolve' : 'reopen', open ? t`Resolve` : t`Open again`)}!${when(view.mayDelete(comment), () => act('delete', t`Delete`))}`)}
    </p>
    !${when(state === undefined ? null : line_text, (text) => html`<pre class="wrapped soft small">${text}</pre>`)}
    !${
      open
        ? markdown(comment.body_markdown)
        : html`<details>
            <summary class="small">What was said</summary>
            !${markdown(comment.body_markdown)}
          </details>`
    }
  </article>`;
}

/** Shown below its file, or where a line number was clicked (diff.js). */
function remarkForm(file: WorkspaceDiff, { issue_id, query }: DiffView): Html {
  const field = (name: string) => ({ name, id: `${name}-${file.id}` });
  return html`<details class="edit remark-form">
    <summary>Comment on a line</summary>
    <form method="post" action="/issues/${issue_id}/review-comments${query}">
      <input type="hidden" name="path" value="${file.path}" />
      <input name="line_text" value="" hidden />
      <div class="row">
        !${input({ ...field('line'), label: 'Line', type: 'number', min: 1, required: true })}
        !${select({
          ...field('side'),
          label: 'Of the file',
          value: 'new',
          choices: [
            { value: 'new', label: t`as it is now` },
            { value: 'old', label: t`as it was` },
          ],
        })}
      </div>
      !${textarea({ ...field('body_markdown'), label: 'Your comment', rows: 3, required: true, hint: 'The next run on the issue receives it.' })}
      <button>Comment</button>
    </form>
  </details>`;
}
