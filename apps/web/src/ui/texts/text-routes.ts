/** Long texts on their own: fetched by the script or the link where a page has folded one (kit/markdown-renderer.ts). */
import { findApprovalComment, findComment, findRevision } from '@acp/core';
import { companyPage } from '../kit/company-frame.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { markdown } from '../kit/markdown.ts';
import type { NavItem } from '../kit/navigation.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

interface LoneText {
  title: string;
  text: string;
  /** The page that the text was folded on. */
  on: NavItem;
  /** The entry of the navigation that it belongs to. */
  active: string;
}

async function textPage(context: UiContext, { title, text, on, active }: LoneText): Promise<Html> {
  if (context.fragment) return markdown(text);
  const body = html`<article class="card">!${markdown(text) || html`<p class="soft">No text.</p>`}</article>`;
  return companyPage(context, { title, active, trail: [on], body });
}

const boardOf = ({ company_id }: { company_id: string }): string => `/companies/${company_id}/board`;

const byIssue = { scope: { by: 'issue', param: 'issueId' }, role: 'viewer' } as const;
const byApproval = { scope: { by: 'approval', param: 'approvalId' }, role: 'viewer' } as const;
const byProduct = { scope: { by: 'work_product', param: 'workProductId' }, role: 'viewer' } as const;

export const textRoutes: UiRoute[] = [
  page('/issues/{issueId}/comments/{commentId}', byIssue, async (c) => {
    const { body_markdown: text } = await findComment(c.tx, c.subject, c.params.commentId!);
    const { id, identifier } = c.subject;
    const on = { label: identifier, path: `/issues/${id}` };
    return textPage(c, { title: t`Comment on ${identifier}`, text, on, active: boardOf(c.subject) });
  }),
  page('/issues/{issueId}/documents/{key}/revisions/{revisionId}', byIssue, async (c) => {
    const key = c.params.key!;
    const {
      body: text,
      title: of,
      revision_number,
    } = await findRevision(c.tx, c.subject, key, c.params.revisionId!);
    const title = t`${of}, revision ${revision_number}`;
    const path = `/issues/${c.subject.id}/documents/${encodeURIComponent(key)}`;
    return textPage(c, { title, text, on: { label: t`Document`, path }, active: boardOf(c.subject) });
  }),
  page('/work-products/{workProductId}', byProduct, async (c) => {
    const { title, summary } = c.subject;
    const on = { label: t`Material`, path: `/issues/${c.subject.issue_id}/material` };
    return textPage(c, { title, text: summary ?? '', on, active: boardOf(c.subject) });
  }),
  page('/approvals/{approvalId}/comments/{approvalCommentId}', byApproval, async (c) => {
    const { body_markdown: text } = await findApprovalComment(c.tx, c.subject, c.params.approvalCommentId!);
    const { id, title, company_id } = c.subject;
    const on = { label: title, path: `/approvals/${id}` };
    return textPage(c, { title: t`A comment`, text, on, active: `/companies/${company_id}/approvals` });
  }),
];
