import type { Actor } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { isUuid, notFound } from '@acp/kernel';
import { and, eq, not } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { type IssueRow, summarizeIssue } from '../issues/index.ts';

const { comments } = schema;

/** Sets `pinned`, or toggles it if absent. Throws `notFound` for another issue's comment. */
export async function pinComment(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  commentId: string,
  input?: { pinned?: boolean },
): Promise<{ id: string; is_pinned: boolean }> {
  if (!isUuid(commentId)) throw notFound();
  const [comment] = await tx
    .update(comments)
    .set({ is_pinned: input?.pinned ?? not(comments.is_pinned) })
    .where(and(eq(comments.id, commentId), eq(comments.issue_id, issue.id)))
    .returning({ id: comments.id, is_pinned: comments.is_pinned });
  if (!comment) throw notFound();
  await recordChanges(tx, actor, [
    {
      company_id: issue.company_id,
      action: comment.is_pinned ? 'comment.pinned' : 'comment.unpinned',
      entity_type: 'comment',
      entity_id: comment.id,
      details: { issue_id: issue.id },
      // No event of its own: pages showing the issue reload its comments.
      event: { type: 'issue_updated', data: summarizeIssue(issue) },
    },
  ]);
  return comment;
}
