/** Acts on a comment: edit, delete, react; and its earlier versions. */
import { commentEndpoints, markdownEndpoints, type Comment } from '@acp/contract';
import { findComment, listVersions, mayChangeComment } from '@acp/core';
import { companyPage } from '../kit/company-frame.ts';
import { asShown } from '../kit/as-shown.ts';
import { timeAgo } from '../kit/format.ts';
import { each, html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { markdown } from '../kit/markdown.ts';
import { emptyState, formError, textarea } from '../kit/parts.ts';
import { moreLink, pageOf } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const byIssue = { by: 'issue', param: 'issueId' } as const;
type IssueContext = UiContext<'issue'>;

const commentOf = ({ tx, subject, params }: IssueContext): Promise<Comment> =>
  findComment(tx, subject, params.commentId!);
const pathOf = ({ subject, params }: IssueContext): string =>
  `/issues/${subject.id}/comments/${params.commentId!}`;
const back = ({ subject, params }: IssueContext): string =>
  `/issues/${subject.id}#comment-${params.commentId!}`;

/** A page of its own, or a fragment that replaces the comment if the script asks. */
async function editPage(context: IssueContext, error: string | null = null): Promise<Html> {
  const { user, subject, company_id, fragment } = context;
  const comment = await commentOf(context);
  const title = t`Edit a comment on ${subject.identifier}`;
  if (!mayChangeComment(user, comment, company_id))
    return inFrame(
      context,
      title,
      emptyState('This is not yours to change', html`Only its author and company admins can change it.`),
    );
  const fields = html`<form method="post" action="${pathOf(context)}/edit">
    !${formError(error)}
    !${textarea({ name: 'body_markdown', id: `edit-${comment.id}`, label: comment.author_user_id === user.user_id ? 'Your comment' : 'Text of the comment', value: comment.body_markdown, rows: 6, required: true })}
    <button>Save</button>
  </form>`;
  const form = await asShown(fields);
  if (fragment) return form;
  return inFrame(context, title, html`<div class="card">!${form}</div>`);
}

const inFrame = (context: IssueContext, title: string, body: Html): Promise<Html> =>
  companyPage(context, {
    title,
    active: `/companies/${context.company_id}/board`,
    trail: [{ label: context.subject.identifier, path: back(context) }],
    body,
  });

async function versionsPage(context: IssueContext): Promise<Html> {
  const { tx, subject, params, query } = context;
  const { items, next_cursor } = await listVersions(tx, subject, params.commentId!, pageOf(query));
  const body =
    items.length === 0
      ? emptyState('It has never been edited', html`<a href="${back(context)}">Back to the comment</a>`)
      : html`!${each(
          items,
          (version) =>
            html`<article class="card">
              <p class="soft small">
                until ${version.replaced_by_name} changed it, !${timeAgo(version.replaced_at)}
              </p>
              !${markdown(version.body_markdown)}
            </article>`,
        )}!${moreLink(`${pathOf(context)}/versions`, next_cursor, 'Older ones')}`;
  return inFrame(context, t`Previous versions of the comment`, body);
}

export const commentRoutes: UiRoute[] = [
  page('/issues/{issueId}/comments/{commentId}/edit', { scope: byIssue, role: 'member' }, (c) => editPage(c)),
  page('/issues/{issueId}/comments/{commentId}/versions', { scope: byIssue, role: 'viewer' }, versionsPage),
  action('/issues/{issueId}/comments/{commentId}/edit', commentEndpoints.update, {
    read: ({ whole }) => ({ body_markdown: whole.text('body_markdown') }),
    edits: (c) => editPage(c),
    next: back,
    failed: (c, error) => editPage(c, error),
  }),
  action('/issues/{issueId}/comments/{commentId}/delete', commentEndpoints.delete, {
    next: ({ subject }) => `/issues/${subject.id}`,
  }),
  action('/issues/{issueId}/comments/{commentId}/reactions/{reaction}', commentEndpoints.react, {
    next: back,
  }),
  action('/issues/{issueId}/comments/{commentId}/reactions/{reaction}/remove', commentEndpoints.unreact, {
    next: back,
  }),
  // Preview of a text: the response is the rendered text alone.
  action('/companies/{companyId}/preview', markdownEndpoints.render, {
    read: (form) => ({ text: form.text('body_markdown') }),
    next: (_, __, form) => markdown(form.text('body_markdown')) || html`<p class="soft">Nothing yet.</p>`,
  }),
];
