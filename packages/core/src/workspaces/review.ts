import type { Actor, ReviewWorkspace, Workspace } from '@acp/contract';
import { inOrder, schema, type Tx } from '@acp/db';
import { conflict, notFound } from '@acp/kernel';
import { and, count, eq, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { createComment } from '../comments/index.ts';
import { findIssue, type IssueRow } from '../issues/index.ts';
import { presentWorkspace, workspaceChange, workspaceOf } from './present.ts';

const { review_comments, workspaces } = schema;

/**
 * Records a person's verdict on the current work. Requesting changes writes a comment, which wakes the assignee; the next run
 * is shown the open comments on lines. @throws notFound without a workspace, conflict if it is empty
 */
export async function reviewWorkspace(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  { verdict, body_markdown }: ReviewWorkspace,
): Promise<Workspace> {
  const workspace = await workspaceOf(tx, issue);
  if (workspace.state === 'empty') throw conflict('there is nothing to review yet');
  const approved = verdict === 'approve';
  const said = body_markdown?.trim() ?? '';
  // Agents that have been shown the comments are shown them again.
  if (!approved)
    await tx
      .update(review_comments)
      .set({ told_at: null, told_agent_id: null })
      .where(inOrder(review_comments, isOpen(issue), 'no key update'));
  if (!approved || said !== '') {
    const words = approved ? said : `Changes are asked for.${said === '' ? '' : `\n\n${said}`}`;
    const open = approved ? 0 : await openComments(tx, issue);
    const lines = open === 0 ? '' : `\n\n${open} ${open === 1 ? 'comment' : 'comments'} on lines to look at.`;
    await createComment(tx, actor, issue, { body_markdown: `${words}${lines}` });
  }
  const [row] = await tx
    .update(workspaces)
    .set({ review_state: approved ? 'approved' : 'changes_requested', updated_at: sql`now()` })
    .where(eq(workspaces.id, workspace.id))
    .returning();
  const fresh = await findIssue(tx, issue.id);
  if (!row || !fresh) throw notFound();
  const entity = { type: 'workspace', id: row.id };
  await recordChanges(tx, actor, [
    workspaceChange(fresh, 'workspace.reviewed', entity, { verdict, commit: row.head_commit }),
  ]);
  return presentWorkspace(row);
}

const isOpen = ({ id }: IssueRow) =>
  and(eq(review_comments.issue_id, id), eq(review_comments.status, 'open'));

async function openComments(tx: Tx, issue: IssueRow): Promise<number> {
  const [found] = await tx.select({ count: count() }).from(review_comments).where(isOpen(issue));
  return found?.count ?? 0;
}
