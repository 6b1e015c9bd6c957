import { listComments, createComment } from '../comments/index.ts';
import { issueDetail, type IssueRow, listIssues, resolveIssueRef } from '../issues/index.ts';
import { outsideActor } from '../activity/index.ts';
import { cutText, notFound } from '@acp/kernel';
import type { Tx } from '@acp/db';
import type { PluginRow } from './store.ts';

interface ReadIssues {
  issue?: string;
  status?: string;
  limit?: number;
  cursor?: string;
}

const COMMENTS = 20;
/** Maximum length of each text: the response must fit in one line of the protocol. */
const LONGEST_TEXT = 20_000;
const PAGE = 20;

/** The host service `issues.read`: one issue with comments, or a page of the company's issues. */
export async function readIssuesFor(
  tx: Tx,
  plugin: Pick<PluginRow, 'company_id'>,
  { issue, status, limit = PAGE, cursor }: ReadIssues,
): Promise<Record<string, unknown>> {
  if (issue === undefined) {
    const query = { limit, ...(status && { status }), ...(cursor && { cursor }) };
    const page = await listIssues(tx, plugin.company_id, query);
    return { issues: page.items.map(shortened), next_cursor: page.next_cursor };
  }
  const row = await issueOf(tx, plugin, issue);
  const comments = await listComments(tx, row, { limit: COMMENTS });
  return {
    issue: shortened(await issueDetail(tx, row)),
    comments: comments.items.map(shortened),
  };
}

/** The host service `issues.comment`: comments in the plugin's own name. */
export async function commentFor(
  tx: Tx,
  plugin: Pick<PluginRow, 'company_id' | 'slug'>,
  { issue, body_markdown }: { issue: string; body_markdown: string },
): Promise<{ comment_id: string }> {
  const row = await issueOf(tx, plugin, issue);
  const { id } = await createComment(tx, outsideActor(`plugin ${plugin.slug}`), row, { body_markdown });
  return { comment_id: id };
}

async function issueOf(
  tx: Tx,
  { company_id }: Pick<PluginRow, 'company_id'>,
  reference: string,
): Promise<IssueRow> {
  const row = await resolveIssueRef(tx, company_id, reference);
  if (row === undefined) throw notFound('there is no such issue');
  return row;
}

function shortened(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      typeof each === 'string' ? cutText(each, LONGEST_TEXT) : (each as unknown),
    ]),
  );
}
