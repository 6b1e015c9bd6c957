import type { Comment } from '@acp/contract';
import { byCreation, newestFirst, oldestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { and, eq, getTableColumns, sql } from 'drizzle-orm';
import type { IssueRow } from '../issues/index.ts';
import { presentComment, type Reactions } from './present.ts';

const { comments, users } = schema;

/** Who added each reaction; limited to what a page shows. */
const reactionsOf = sql<Reactions>`(
  select coalesce(jsonb_agg(jsonb_build_object('reaction', kinds.reaction, 'actor_ids', kinds.actor_ids) order by kinds.first, kinds.reaction), '[]')
  from (select r.reaction, min(r.created_at) as first, to_jsonb((array_agg(r.actor_id order by r.created_at, r.actor_id))[1:100]) as actor_ids
    from comment_reactions r where r.comment_id = ${comments.id} group by r.reaction) kinds)`;

/** Oldest first; at most 1,000 or 4 MB unless a limit is given (decisions 3). @throws invalid for a bad cursor */
export async function listComments(tx: Tx, issue: IssueRow, query: PageRequest): Promise<Page<Comment>> {
  const page = oldestFirst(comments.created_at, comments.id, query, null);
  const rows = tx
    .select({
      ...getTableColumns(comments),
      user_name: users.display_name,
      reactions: reactionsOf.as('reactions'),
    })
    .from(comments)
    .leftJoin(users, eq(users.id, comments.author_user_id))
    .where(and(eq(comments.issue_id, issue.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, (row) => presentComment(row, row.user_name, row.reactions));
}

/** A comment whose text, if long, is replaced by its length in characters. */
export type OutlinedComment = Omit<Comment, 'body_markdown'> & {
  body_markdown: string | null;
  length: number;
};

const OUTLINES = 100;

/** Comments for pages: newest first, without texts longer than `longest` characters. */
export async function outlineComments(
  tx: Tx,
  issue: IssueRow,
  query: PageRequest,
  longest: number,
): Promise<Page<OutlinedComment>> {
  const page = newestFirst(comments.created_at, comments.id, query, OUTLINES, 'oldest first');
  const rows = await tx
    .select({
      ...getTableColumns(comments),
      body_markdown: sql<string>`case when length(${comments.body_markdown}) > ${longest}::int then '' else ${comments.body_markdown} end`,
      length: sql<number>`length(${comments.body_markdown})`,
      user_name: users.display_name,
      reactions: reactionsOf.as('reactions'),
    })
    .from(comments)
    .leftJoin(users, eq(users.id, comments.author_user_id))
    .where(and(eq(comments.issue_id, issue.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, byCreation, ({ length, ...row }) => {
    const comment = presentComment(row, row.user_name, row.reactions);
    return { ...comment, body_markdown: length > longest ? null : comment.body_markdown, length };
  });
}

/** The number of the issue's comments before this one. */
export async function countEarlierComments(
  tx: Tx,
  issue: { id: string },
  comment: { id: string },
): Promise<number> {
  const { rows } = await tx.execute<{ count: number }>(sql`
    select count(*)::int as count from comments c join comments first on first.id = ${comment.id}
    where c.issue_id = ${issue.id} and (c.created_at, c.id) < (first.created_at, first.id)`);
  return rows[0]!.count;
}

/** Throws `notFound` for another issue's comment. */
export async function findComment(tx: Tx, issue: IssueRow, comment_id: string): Promise<Comment> {
  const [row] = await tx
    .select({
      ...getTableColumns(comments),
      user_name: users.display_name,
      reactions: reactionsOf.as('reactions'),
    })
    .from(comments)
    .leftJoin(users, eq(users.id, comments.author_user_id))
    .where(and(eq(comments.issue_id, issue.id), eq(comments.id, comment_id)));
  if (!row) throw notFound();
  return presentComment(row, row.user_name, row.reactions);
}
