import type { Actor, Comment, CommentVersion, Reaction } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { forbidden, isUuid, notFound } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { actorColumns, actorId, type Change, recordChanges } from '../activity/index.ts';
import { type IssueRow, summarizeIssue } from '../issues/index.ts';
import type { CommentRow } from './present.ts';
import { findComment } from './read-comments.ts';

const { comment_reactions, comment_versions, comments } = schema;

/** Per comment; the oldest are dropped. */
const MOST_VERSIONS = 50;

/**
 * Replaces the text; the previous one is kept as a version. No one is woken: new requests need a new comment.
 * @throws forbidden for someone else's comment, except by a company admin
 */
export async function updateComment(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  comment_id: string,
  { body_markdown }: { body_markdown: string },
): Promise<Comment> {
  const before = await lockOwn(tx, actor, issue, comment_id);
  if (before.body_markdown !== body_markdown) {
    await tx.insert(comment_versions).values({
      comment_id: before.id,
      body_markdown: before.body_markdown,
      replaced_by_id: actorId(actor),
      replaced_by_name: actor.kind === 'anonymous' ? '' : actor.name,
    });
    await tx.execute(sql`
      delete from comment_versions where id in (
        select id from comment_versions where comment_id = ${before.id}
        order by replaced_at desc, id desc offset ${MOST_VERSIONS})`);
    await tx
      .update(comments)
      .set({ body_markdown, edited_at: sql`now()` })
      .where(eq(comments.id, before.id));
    await recordChanges(tx, actor, [changed(issue, before.id, 'comment.updated')]);
  }
  return findComment(tx, issue, comment_id);
}

/** Deletes it for good, with versions and reactions. @throws forbidden like `updateComment` */
export async function deleteComment(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  comment_id: string,
): Promise<void> {
  const comment = await lockOwn(tx, actor, issue, comment_id);
  await tx.delete(comments).where(eq(comments.id, comment.id));
  await recordChanges(tx, actor, [changed(issue, comment.id, 'comment.deleted')]);
}

/** Previous texts, newest first. */
export async function listVersions(
  tx: Tx,
  issue: IssueRow,
  comment_id: string,
  query: PageRequest,
): Promise<Page<CommentVersion>> {
  const { id } = await findComment(tx, issue, comment_id);
  const page = newestFirst(comment_versions.replaced_at, comment_versions.id, query, null);
  const rows = tx
    .select()
    .from(comment_versions)
    .where(and(eq(comment_versions.comment_id, id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, (row) => ({ at: row.replaced_at, id: row.id }), presentVersion);
}

const presentVersion = ({
  id,
  body_markdown,
  replaced_at,
  replaced_by_name,
}: typeof comment_versions.$inferSelect): CommentVersion => ({
  id,
  body_markdown,
  replaced_at,
  replaced_by_name,
});

/** Adds or removes the caller's reaction; idempotent. */
export async function react(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  { comment_id, reaction, on }: { comment_id: string; reaction: Reaction; on: boolean },
): Promise<Comment> {
  const { id } = await findComment(tx, issue, comment_id);
  const actor_id = actorId(actor);
  if (actor_id === null) throw forbidden('someone has to react');
  const row = { comment_id: id, actor_id, reaction };
  const rows = on
    ? await tx.insert(comment_reactions).values(row).onConflictDoNothing().returning()
    : await tx
        .delete(comment_reactions)
        .where(
          and(
            eq(comment_reactions.comment_id, id),
            eq(comment_reactions.actor_id, actor_id),
            eq(comment_reactions.reaction, reaction),
          ),
        )
        .returning();
  // Event only: pages update immediately, but a reaction is not worth an activity entry.
  if (rows.length > 0) await recordChanges(tx, actor, [changed(issue, id)]);
  return findComment(tx, issue, comment_id);
}

async function lockOwn(tx: Tx, actor: Actor, issue: IssueRow, comment_id: string): Promise<CommentRow> {
  if (!isUuid(comment_id)) throw notFound();
  const [row] = await tx
    .select()
    .from(comments)
    .where(and(eq(comments.id, comment_id), eq(comments.issue_id, issue.id)))
    .for('update');
  if (!row) throw notFound();
  if (!mayChangeComment(actor, row, issue.company_id)) throw forbidden('only its author or an admin may');
  return row;
}

/** Its author, or an admin of the company. A key only counts as author if no other key could claim the comment. */
export function mayChangeComment(
  actor: Actor,
  comment: Pick<Comment, 'author_agent_id' | 'author_user_id'>,
  company_id: string,
): boolean {
  const { agent_id, user_id } = actorColumns(actor);
  if (agent_id !== null) return comment.author_agent_id === agent_id;
  if (user_id !== null && comment.author_user_id === user_id) return true;
  if (actor.kind === 'user') return actor.instance_role === 'admin' || actor.roles[company_id] === 'admin';
  return actor.kind === 'board_user' && actor.role === 'admin';
}

/** No event of its own: pages showing the issue reload its comments. */
function changed(issue: IssueRow, comment_id: string, action?: string): Change {
  return {
    company_id: issue.company_id,
    action,
    entity_type: 'comment',
    entity_id: comment_id,
    details: { issue_id: issue.id, identifier: issue.identifier },
    event: { type: 'issue_updated', data: summarizeIssue(issue) },
  };
}
