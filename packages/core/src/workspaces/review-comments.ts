import type {
  Actor,
  CreateReviewComment,
  ReviewComment,
  ReviewCommentsQuery,
  UpdateReviewComment,
} from '@acp/contract';
import { byCreation, lockByName, oldestFirst, type Page, schema, type Tx } from '@acp/db';
import { conflict, forbidden, isUuid, notFound, said } from '@acp/kernel';
import { and, count, eq, getTableColumns, sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { isCompanyAdmin } from '../agents/index.ts';
import { ofLiveCompany } from '../companies/index.ts';
import { findIssue, type IssueRow, notTrashed } from '../issues/index.ts';
import { workspaceChange, workspaceOf } from './present.ts';

const { companies, review_comments, users } = schema;

type ReviewCommentRow = typeof review_comments.$inferSelect;

/** Maximum per issue; prompts show fewer. */
const MOST = 1000;

/** Undefined if absent, or if its issue or one of its ancestors is in the trash. */
export async function findReviewComment(tx: Tx, id: string): Promise<ReviewCommentRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(getTableColumns(review_comments))
    .from(review_comments)
    .innerJoin(companies, ofLiveCompany(review_comments.company_id))
    .where(
      and(
        eq(review_comments.id, id),
        sql`exists (select from issues i where i.id = ${review_comments.issue_id} and ${notTrashed('i')})`,
      ),
    );
  return row;
}

/** Oldest first. @throws invalid for a bad cursor */
export async function listReviewComments(
  tx: Tx,
  issue: IssueRow,
  query: ReviewCommentsQuery,
): Promise<Page<ReviewComment>> {
  const page = oldestFirst(review_comments.created_at, review_comments.id, query, 200);
  const rows = tx
    .select({ ...getTableColumns(review_comments), user_name: users.display_name })
    .from(review_comments)
    .leftJoin(users, eq(users.id, review_comments.author_user_id))
    .where(
      and(
        eq(review_comments.issue_id, issue.id),
        query.status === undefined ? undefined : eq(review_comments.status, query.status),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, (row) => present(row, row.user_name));
}

/** Comments on the current contents. @throws notFound without a workspace, conflict if the issue has too many */
export async function createReviewComment(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: CreateReviewComment,
): Promise<ReviewComment> {
  const workspace = await workspaceOf(tx, issue);
  // Two that write the last one at once would both have counted before.
  await lockByName(tx, `review comments ${issue.id}`);
  const [total] = await tx
    .select({ count: count() })
    .from(review_comments)
    .where(eq(review_comments.issue_id, issue.id));
  if ((total?.count ?? 0) >= MOST) throw conflict(said`an issue has no more than ${MOST} comments on lines`);
  const { user_id, agent_id } = actorColumns(actor);
  const [row] = await tx
    .insert(review_comments)
    .values({
      company_id: issue.company_id,
      issue_id: issue.id,
      path: input.path,
      side: input.side ?? 'new',
      line: input.line,
      line_text: input.line_text,
      commit: workspace.work_commit,
      body_markdown: input.body_markdown,
      author_user_id: user_id,
      author_agent_id: agent_id,
    })
    .returning();
  await recordChanges(tx, actor, [changeOf(issue, row!, 'created')]);
  return present(row!, await authorName(tx, row!));
}

/** Anyone who may write on the issue may resolve a comment; only its author may edit its text. @throws forbidden */
export async function updateReviewComment(
  tx: Tx,
  actor: Actor,
  subject: ReviewCommentRow,
  { body_markdown, status }: UpdateReviewComment,
): Promise<ReviewComment> {
  if (body_markdown !== undefined && !isAuthor(actor, subject))
    throw forbidden('the comment is someone else’s');
  const [row] = await tx
    .update(review_comments)
    .set({ body_markdown, status, updated_at: sql`now()` })
    .where(eq(review_comments.id, subject.id))
    .returning();
  const issue = await findIssue(tx, subject.issue_id);
  if (!row || !issue) throw notFound();
  await recordChanges(tx, actor, [changeOf(issue, row, 'updated', { status })]);
  return present(row, await authorName(tx, row));
}

/** @throws forbidden for another's comment, except for admins */
export async function deleteReviewComment(tx: Tx, actor: Actor, subject: ReviewCommentRow): Promise<void> {
  if (!mayDeleteReviewComment(actor, subject)) throw forbidden('the comment is someone else’s');
  const [row] = await tx.delete(review_comments).where(eq(review_comments.id, subject.id)).returning();
  const issue = await findIssue(tx, subject.issue_id);
  if (!row || !issue) throw notFound();
  await recordChanges(tx, actor, [changeOf(issue, row, 'deleted')]);
}

/** Its author, or an admin of the company. */
export const mayDeleteReviewComment = (actor: Actor, comment: Authored & { company_id: string }): boolean =>
  isAuthor(actor, comment) || isCompanyAdmin(actor, comment.company_id);

type Authored = Pick<ReviewComment, 'author_user_id' | 'author_agent_id'>;

/** Keys without a person are never authors: any of them could have written it. */
function isAuthor(actor: Actor, { author_user_id, author_agent_id }: Authored): boolean {
  const { user_id, agent_id } = actorColumns(actor);
  if (agent_id !== null) return agent_id === author_agent_id;
  return user_id !== null && author_agent_id === null && user_id === author_user_id;
}

async function authorName(tx: Tx, { author_user_id: id }: ReviewCommentRow): Promise<string | null> {
  if (id === null) return null;
  const [user] = await tx.select({ name: users.display_name }).from(users).where(eq(users.id, id));
  return user?.name ?? null;
}

function changeOf(
  issue: IssueRow,
  row: ReviewCommentRow,
  act: string,
  details: Record<string, unknown> = {},
) {
  const entity = { type: 'review_comment', id: row.id };
  return workspaceChange(issue, `review_comment.${act}`, entity, {
    path: row.path,
    line: row.line,
    ...details,
  });
}

function present(row: ReviewCommentRow, author_user_name: string | null): ReviewComment {
  return {
    id: row.id,
    company_id: row.company_id,
    issue_id: row.issue_id,
    path: row.path,
    side: row.side as ReviewComment['side'],
    line: row.line,
    line_text: row.line_text,
    commit: row.commit,
    body_markdown: row.body_markdown,
    status: row.status as ReviewComment['status'],
    author_user_id: row.author_user_id,
    author_agent_id: row.author_agent_id,
    author_user_name,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
