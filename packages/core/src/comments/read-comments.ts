import type { Comment } from '@acp/contract';
import { oldestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { and, eq, getTableColumns } from 'drizzle-orm';
import type { IssueRow } from '../issues/index.ts';
import { presentComment } from './present.ts';

const { comments, users } = schema;

/** Oldest first; at most 1,000 or 4 MB unless a limit is given (decisions 3). @throws invalid for a bad cursor */
export async function listComments(tx: Tx, issue: IssueRow, query: PageRequest): Promise<Page<Comment>> {
  const page = oldestFirst(comments.created_at, comments.id, query, null);
  const rows = tx
    .select({ ...getTableColumns(comments), user_name: users.display_name })
    .from(comments)
    .leftJoin(users, eq(users.id, comments.author_user_id))
    .where(and(eq(comments.issue_id, issue.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(
    tx,
    rows,
    ({ created_at, id }) => ({ at: created_at, id }),
    (row) => presentComment(row, row.user_name),
  );
}

/** One of the issue's. Throws `notFound`. */
export async function findComment(tx: Tx, issue: IssueRow, comment_id: string): Promise<Comment> {
  const [row] = await tx
    .select({ ...getTableColumns(comments), user_name: users.display_name })
    .from(comments)
    .leftJoin(users, eq(users.id, comments.author_user_id))
    .where(and(eq(comments.issue_id, issue.id), eq(comments.id, comment_id)));
  if (!row) throw notFound();
  return presentComment(row, row.user_name);
}
