import type { Comment } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { decodeCursor, encodeCursor } from '@acp/kernel';
import { and, asc, eq, getTableColumns, sql } from 'drizzle-orm';
import type { IssueRow } from '../issues/index.ts';
import { presentComment } from './present.ts';

const { comments, users } = schema;
const MAX_LIMIT = 200;

/** Oldest first; all of them unless a limit is given (decisions 3). Throws `invalid` for a bad cursor. */
export async function listComments(
  tx: Tx,
  issue: IssueRow,
  query: { limit?: number; cursor?: string },
): Promise<{ items: Comment[]; next_cursor: string | null }> {
  const limit = query.limit === undefined ? undefined : Math.min(query.limit, MAX_LIMIT);
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor, ['timestamp', 'uuid']);
  const list = tx
    .select({ ...getTableColumns(comments), user_name: users.display_name })
    .from(comments)
    .leftJoin(users, eq(users.id, comments.author_user_id))
    .where(
      and(
        eq(comments.issue_id, issue.id),
        after &&
          sql`(${comments.created_at}, ${comments.id}) > (${after[0]}::timestamptz, ${after[1]}::uuid)`,
      ),
    )
    .orderBy(asc(comments.created_at), asc(comments.id))
    .$dynamic();
  const rows = await (limit === undefined ? list : list.limit(limit + 1));
  const page = rows.slice(0, limit);
  const last = rows.length > page.length ? page.at(-1) : undefined;
  return {
    items: page.map((row) => presentComment(row, row.user_name)),
    next_cursor: last ? encodeCursor([last.created_at.toISOString(), last.id]) : null,
  };
}
