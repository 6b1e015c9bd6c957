import type { Actor, Comment, CreateComment } from '@acp/contract';
import type { Tx, schema } from '@acp/db';
import type { Change } from '../activity/index.ts';
import type { IssueRow } from '../issues/index.ts';
import type { WakeupRequest } from '../wakeups/index.ts';

export type CommentRow = typeof schema.comments.$inferSelect;

/** A comment written, with what its transaction still has to do: `requestWakeups` and `recordChanges`. */
export interface WrittenComment {
  comment: Comment;
  changes: Change[];
  wakeups: WakeupRequest[];
}

/** For a transaction that has more to record: the end of a run. */
export declare function writeComment(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: CreateComment,
): Promise<WrittenComment>;
export declare function createComment(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: CreateComment,
): Promise<Comment>;
export declare function listComments(
  tx: Tx,
  issue: IssueRow,
  query: { limit?: number; cursor?: string },
): Promise<{ items: Comment[]; next_cursor: string | null }>;
export declare function findComment(tx: Tx, id: string): Promise<CommentRow | undefined>;
export declare function pinComment(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  commentId: string,
  input?: { pinned?: boolean },
): Promise<{ id: string; is_pinned: boolean }>;
