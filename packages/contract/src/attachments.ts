/** Files on issues (specification, Comment, label, document, attachment …; decisions 7.17 and 7.21). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint, type FileRule } from './endpoint.ts';
import { Issue } from './issues.ts';
import { Nullable, OneOf, PageQuery, Timestamp, Uuid } from './schema-kit.ts';

export const Attachment = Type.Object({
  id: Uuid,
  company_id: Uuid,
  issue_id: Uuid,
  filename: Type.String(),
  content_type: Type.String(),
  size_bytes: Type.Integer(),
  storage_key: Type.String(),
  created_by_agent_id: Nullable(Uuid),
  created_by_user_id: Nullable(Uuid),
  created_at: Timestamp,
});
export type Attachment = Static<typeof Attachment>;

/** The text extracted from a file. */
export const AttachmentText = Type.Object({
  id: Uuid,
  issue_id: Uuid,
  filename: Type.String(),
  content_type: Type.String(),
  size_bytes: Type.Integer(),
  /** `pending`: extraction is in progress. `none`: the file contains no text. */
  text_status: OneOf(['pending', 'done', 'none', 'failed']),
  /** Starting at `offset`, at most 100,000 characters. */
  text: Nullable(Type.String()),
  /** Length of the whole text in characters. */
  text_length: Nullable(Type.Integer()),
  /** Path for downloading the file with the same key. */
  download_path: Type.String(),
});
export type AttachmentText = Static<typeof AttachmentText>;

/** The response to creating an issue with a multipart body. */
export const IssueWithAttachments = Type.Object({
  issue: Issue,
  attachments: Type.Array(Attachment),
  /** Files that could not be stored; null if all were stored. */
  attachment_errors: Nullable(Type.Array(Type.Object({ filename: Type.String(), error: Type.String() }))),
});
export type IssueWithAttachments = Static<typeof IssueWithAttachments>;

const folder = 'attachments';

/** When creating an issue, any part with a file name is a file. */
export const filesOfIssue = {
  field: '*',
  into: { folder },
  limit: 'attachments',
  required: false,
  tolerant: true,
} as const satisfies FileRule;

const byIssue = { by: 'issue', param: 'issueId' } as const;
const byAttachment = { by: 'attachment', param: 'attachmentId' } as const;

export const attachmentEndpoints = {
  list: endpoint({
    id: 'attachments.list',
    method: 'GET',
    path: '/api/issues/{issueId}/attachments',
    auth: BEARER,
    role: 'viewer',
    scope: byIssue,
    query: Type.Object(PageQuery),
    response: Type.Array(Attachment),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The attachments of the issue, newest first; at most 1,000 or 4 MB unless `limit` is given.',
  }),
  create: endpoint({
    id: 'attachments.create',
    method: 'POST',
    path: '/api/issues/{issueId}/attachments',
    auth: BEARER,
    role: 'member',
    scope: byIssue,
    permission: 'files.write',
    body_kind: 'multipart',
    files: { field: 'file', into: { folder }, limit: 'attachments', required: true },
    response: Type.Union([Attachment, Type.Array(Attachment)]),
    status: 201,
    tx: 'write',
    doc: 'Attaches the `file`, or several parts of that name, in which case the response is an array. Too large or too many: 413, and nothing is stored.',
  }),
  download: endpoint({
    id: 'attachments.download',
    method: 'GET',
    path: '/api/attachments/{attachmentId}/download',
    auth: BEARER,
    role: 'viewer',
    scope: byAttachment,
    response: null,
    status: 200,
    also: [206],
    tx: 'none',
    streams: 'bytes',
    doc: 'The bytes, always as a download; supports `Range` and `If-None-Match`.',
  }),
  text: endpoint({
    id: 'attachments.text',
    method: 'GET',
    path: '/api/attachments/{attachmentId}/text',
    auth: BEARER,
    role: 'viewer',
    scope: byAttachment,
    query: Type.Object({ offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000_000 })) }),
    response: AttachmentText,
    status: 200,
    tx: 'none',
    doc: 'The file’s text as seen by agents, in pieces of 100,000 characters starting at `offset`.',
  }),
  delete: endpoint({
    id: 'attachments.delete',
    method: 'DELETE',
    path: '/api/attachments/{attachmentId}',
    auth: BEARER,
    role: 'member',
    scope: byAttachment,
    permission: 'files.write',
    response: null,
    status: 204,
    tx: 'none',
    doc: 'Deletes the attachment and its file.',
  }),
};
