/** Comments on issues (specification, Comment). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { NonBlankText, Nullable, OneOf, PageQuery, Timestamp, Uuid } from './schema-kit.ts';

export const reactions = [
  'thumbs_up',
  'thumbs_down',
  'laugh',
  'hooray',
  'confused',
  'heart',
  'rocket',
  'eyes',
] as const;
export type Reaction = (typeof reactions)[number];

export const Comment = Type.Object({
  id: Uuid,
  issue_id: Uuid,
  author_agent_id: Nullable(Uuid),
  author_user_id: Nullable(Uuid),
  author_user_name: Nullable(Type.String()),
  body_markdown: Type.String(),
  is_pinned: Type.Boolean(),
  /** Null: never edited. */
  edited_at: Nullable(Timestamp),
  /** Reactions with the ids of the users, agents and keys who added them. */
  reactions: Type.Array(Type.Object({ reaction: OneOf(reactions), actor_ids: Type.Array(Uuid) })),
  created_at: Timestamp,
});
export type Comment = Static<typeof Comment>;

export const CreateComment = Type.Object({
  body_markdown: NonBlankText,
  resume_after: Type.Optional(Type.Boolean()),
});
export type CreateComment = Static<typeof CreateComment>;

/** Text of a comment before an edit. */
export const CommentVersion = Type.Object({
  id: Uuid,
  body_markdown: Type.String(),
  replaced_at: Timestamp,
  replaced_by_name: Type.String(),
});
export type CommentVersion = Static<typeof CommentVersion>;

const byIssue = { by: 'issue', param: 'issueId' } as const;

const one = {
  path: '/api/issues/{issueId}/comments/{commentId}',
  auth: BEARER,
  role: 'member',
  scope: byIssue,
} as const;
const reacting = {
  ...one,
  path: '/api/issues/{issueId}/comments/{commentId}/reactions/{reaction}',
  response: Comment,
  status: 200,
  tx: 'write',
} as const;

export const commentEndpoints = {
  update: endpoint({
    ...one,
    id: 'comments.update',
    method: 'PATCH',
    body: Type.Pick(CreateComment, ['body_markdown']),
    response: Comment,
    status: 200,
    tx: 'write',
    example: { body_markdown: 'The first backup is done, and verified.' },
    doc: 'Replaces the text of the caller’s own comment, or of any comment as a company admin. No one is woken; the old text is kept as a version.',
  }),
  delete: endpoint({
    ...one,
    id: 'comments.delete',
    method: 'DELETE',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Permanently deletes the caller’s own comment, or any comment as a company admin.',
  }),
  versions: endpoint({
    ...one,
    id: 'comments.versions',
    method: 'GET',
    path: '/api/issues/{issueId}/comments/{commentId}/versions',
    role: 'viewer',
    query: Type.Object(PageQuery),
    response: Type.Array(CommentVersion),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Previous versions of the comment, newest first; the last 50.',
  }),
  react: endpoint({
    ...reacting,
    id: 'comments.react',
    method: 'PUT',
    doc: 'Reacts: `thumbs_up`, `thumbs_down`, `laugh`, `hooray`, `confused`, `heart`, `rocket` or `eyes`.',
  }),
  unreact: endpoint({
    ...reacting,
    id: 'comments.unreact',
    method: 'DELETE',
    doc: 'Removes the caller’s reaction.',
  }),
  list: endpoint({
    id: 'comments.list',
    method: 'GET',
    path: '/api/issues/{issueId}/comments',
    auth: BEARER,
    role: 'viewer',
    scope: byIssue,
    query: Type.Object(PageQuery),
    response: Type.Array(Comment),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Comments, oldest first; at most 1,000 or 4 MB unless `limit` is given.',
  }),
  create: endpoint({
    id: 'comments.create',
    method: 'POST',
    path: '/api/issues/{issueId}/comments',
    auth: BEARER,
    role: 'member',
    scope: byIssue,
    body: CreateComment,
    response: Comment,
    status: 201,
    tx: 'write',
    example: { body_markdown: 'The first backup is done.' },
    doc: 'Adds a comment. Mentioned agents and the assignee are woken, never the author; `resume_after` by a human moves a blocked issue to in_progress.',
  }),
  pin: endpoint({
    id: 'comments.pin',
    method: 'POST',
    path: '/api/issues/{issueId}/comments/{commentId}/pin',
    auth: BEARER,
    role: 'member',
    scope: byIssue,
    body: Type.Object({ pinned: Type.Optional(Type.Boolean()) }),
    body_optional: true,
    response: Type.Object({ id: Uuid, is_pinned: Type.Boolean() }),
    status: 200,
    tx: 'write',
    example: { pinned: true },
    doc: 'Pins or unpins; toggles without a body.',
  }),
};
