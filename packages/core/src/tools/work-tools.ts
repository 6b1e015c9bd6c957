import { createComment, listComments } from '../comments/index.ts';
import { findDocument, listDocuments, putDocument } from '../documents/index.ts';
import {
  createIssue,
  issueDetail,
  type IssueRow,
  listIssues,
  resolveIssueRef,
  updateIssue,
} from '../issues/index.ts';
import type { ToolCaller, Tools } from './tool.ts';
import { notFound } from '@acp/kernel';

async function issueOf({ tx, company_id }: ToolCaller, reference: string): Promise<IssueRow> {
  const row = await resolveIssueRef(tx, company_id, reference);
  if (row === undefined) throw notFound(`there is no issue ${JSON.stringify(reference.slice(0, 100))}`);
  return row;
}

/** Issues, their comments and their documents. */
export const workTools = {
  list_issues: (c, input) => listIssues(c.tx, c.company_id, input),
  get_issue: async (c, { issue }) => issueDetail(c.tx, await issueOf(c, issue)),
  create_issue: (c, input) => createIssue(c.tx, c.actor, c.company_id, input),
  update_issue: async (c, { issue, ...fields }) =>
    updateIssue(c.tx, c.actor, await issueOf(c, issue), fields),
  list_comments: async (c, { issue, ...page }) => listComments(c.tx, await issueOf(c, issue), page),
  create_comment: async (c, { issue, body_markdown }) =>
    createComment(c.tx, c.actor, await issueOf(c, issue), { body_markdown }),
  list_documents: async (c, { issue, ...page }) => listDocuments(c.tx, await issueOf(c, issue), page),
  get_document: async (c, { issue, key }) => findDocument(c.tx, await issueOf(c, issue), key),
  put_document: async (c, { issue, key, ...revision }) =>
    putDocument(c.tx, c.actor, await issueOf(c, issue), key, revision),
} satisfies Partial<Tools>;
