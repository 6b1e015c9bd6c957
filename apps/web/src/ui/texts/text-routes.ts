/** Long texts on their own: fetched by the script or the link where a page has folded one (kit/markdown-renderer.ts). */
import { findApprovalComment, findComment, findRevision } from '@acp/core';
import { companyPage } from '../kit/company-frame.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { markdown } from '../kit/markdown.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

interface LoneText {
  title: string;
  text: string;
  /** The page that the text was folded on. */
  path: string;
}

async function textPage(context: UiContext, { title, text, path }: LoneText): Promise<Html> {
  if (context.fragment) return markdown(text);
  const body = html`<article class="card">!${markdown(text)}</article>
    <p><a href="${path}">Back</a></p>`;
  return companyPage(context, { title, active: path, trail: [], body });
}

const byIssue = { scope: { by: 'issue', param: 'issueId' }, role: 'viewer' } as const;
const byApproval = { scope: { by: 'approval', param: 'approvalId' }, role: 'viewer' } as const;
const byProduct = { scope: { by: 'work_product', param: 'workProductId' }, role: 'viewer' } as const;

export const textRoutes: UiRoute[] = [
  page('/issues/{issueId}/comments/{commentId}', byIssue, async (c) => {
    const { body_markdown: text } = await findComment(c.tx, c.subject, c.params.commentId!);
    const path = `/issues/${c.subject.id}`;
    return textPage(c, { title: t`Comment on ${c.subject.identifier}`, text, path });
  }),
  page('/issues/{issueId}/documents/{key}/revisions/{revisionId}', byIssue, async (c) => {
    const key = c.params.key!;
    const { body: text, title } = await findRevision(c.tx, c.subject, key, c.params.revisionId!);
    return textPage(c, { title, text, path: `/issues/${c.subject.id}/documents/${encodeURIComponent(key)}` });
  }),
  page('/work-products/{workProductId}', byProduct, async (c) => {
    const { title, summary } = c.subject;
    return textPage(c, { title, text: summary ?? '', path: `/issues/${c.subject.issue_id}/material` });
  }),
  page('/approvals/{approvalId}/comments/{approvalCommentId}', byApproval, async (c) => {
    const { body_markdown: text } = await findApprovalComment(c.tx, c.subject, c.params.approvalCommentId!);
    return textPage(c, { title: t`A comment`, text, path: `/approvals/${c.subject.id}` });
  }),
];
