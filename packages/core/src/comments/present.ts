import type { Comment } from '@acp/contract';
import type { schema } from '@acp/db';
import { cutText } from '@acp/kernel';

export type CommentRow = typeof schema.comments.$inferSelect;
export type Reactions = Comment['reactions'];

/** Maximum text in events (decisions 4); lists have all of it. */
const LONGEST_EVENT_TEXT_BYTES = 2048;

/** @param userName the author's display name, if a user. */
export function presentComment(row: CommentRow, userName: string | null, reactions: Reactions = []): Comment {
  return {
    id: row.id,
    issue_id: row.issue_id,
    author_agent_id: row.author_agent_id,
    author_user_id: row.author_user_id,
    author_user_name: userName ?? row.author_label,
    body_markdown: row.body_markdown,
    is_pinned: row.is_pinned,
    edited_at: row.edited_at,
    reactions,
    created_at: row.created_at,
  };
}

export function commentEvent<T extends Pick<Comment, 'body_markdown'>>(comment: T): T {
  return { ...comment, body_markdown: cutText(comment.body_markdown, LONGEST_EVENT_TEXT_BYTES) };
}
