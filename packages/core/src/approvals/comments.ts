import type { Actor, ApprovalComment } from '@acp/contract';
import { byCreation, oldestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { and, eq, getTableColumns } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { type ApprovalRow, presentApprovalComment } from './present.ts';

const { approval_comments, users } = schema;

export async function createApprovalComment(
  tx: Tx,
  actor: Actor,
  approval: ApprovalRow,
  input: { body_markdown: string },
): Promise<ApprovalComment> {
  const author = actorColumns(actor);
  const nameless = author.agent_id === null && author.user_id === null;
  const [row] = await tx
    .insert(approval_comments)
    .values({
      company_id: approval.company_id,
      approval_id: approval.id,
      author_agent_id: author.agent_id,
      author_user_id: author.user_id,
      author_label: nameless ? actor.name : null,
      body_markdown: input.body_markdown,
    })
    .returning();
  await recordChanges(tx, actor, [
    {
      company_id: approval.company_id,
      action: 'approval.commented',
      entity_type: 'approval',
      entity_id: approval.id,
      details: { comment_id: row!.id },
    },
  ]);
  return presentApprovalComment(row!, actor.kind === 'user' ? actor.name : null);
}

/** Oldest first. @param unasked page size without a limit (decisions 3); null: all */
export async function listApprovalComments(
  tx: Tx,
  approval: ApprovalRow,
  query: PageRequest,
  unasked: number | null = 50,
): Promise<Page<ApprovalComment>> {
  const page = oldestFirst(approval_comments.created_at, approval_comments.id, query, unasked);
  const rows = tx
    .select({ ...getTableColumns(approval_comments), user_name: users.display_name })
    .from(approval_comments)
    .leftJoin(users, eq(users.id, approval_comments.author_user_id))
    .where(and(eq(approval_comments.approval_id, approval.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, (row) => presentApprovalComment(row, row.user_name));
}

/** Throws `notFound` for another approval's comment. */
export async function findApprovalComment(
  tx: Tx,
  approval: ApprovalRow,
  comment_id: string,
): Promise<ApprovalComment> {
  const [row] = await tx
    .select({ comment: approval_comments, user_name: users.display_name })
    .from(approval_comments)
    .leftJoin(users, eq(users.id, approval_comments.author_user_id))
    .where(and(eq(approval_comments.approval_id, approval.id), eq(approval_comments.id, comment_id)));
  if (!row) throw notFound();
  return presentApprovalComment(row.comment, row.user_name);
}
