/** Comments on issues (specification, Comment). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, Timestamp, Uuid } from './schema-kit.ts';

export const Comment = Type.Object({
  id: Uuid,
  issue_id: Uuid,
  author_agent_id: Nullable(Uuid),
  author_user_id: Nullable(Uuid),
  author_user_name: Nullable(Type.String()),
  body_markdown: Type.String(),
  is_pinned: Type.Boolean(),
  created_at: Timestamp,
});
export type Comment = Static<typeof Comment>;

export const CreateComment = Type.Object({
  body_markdown: Type.String({ minLength: 1, maxLength: 1_000_000, pattern: '^[^\\u0000]*\\S[^\\u0000]*$' }),
  resume_after: Type.Optional(Type.Boolean()),
});
export type CreateComment = Static<typeof CreateComment>;

const byIssue = { by: 'issue', param: 'issueId' } as const;

export const commentEndpoints = {
  list: endpoint({
    id: 'comments.list',
    method: 'GET',
    path: '/api/issues/{issueId}/comments',
    auth: BEARER,
    role: 'viewer',
    scope: byIssue,
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1 })),
      cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
    }),
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
    doc: 'Comments. Mentioned agents and the assignee are woken, never the author; `resume_after` by a human moves a blocked issue to in_progress.',
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
