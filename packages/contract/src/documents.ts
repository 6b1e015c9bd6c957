/** Keyed documents of issues, with their history (specification, Comment, label, document …). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Name, Nullable, PageQuery, Text, Timestamp, Uuid } from './schema-kit.ts';

export const Document = Type.Object({
  id: Uuid,
  company_id: Uuid,
  issue_id: Uuid,
  document_id: Uuid,
  key: Type.String(),
  title: Type.String(),
  latest_body: Type.String(),
  latest_revision_id: Nullable(Uuid),
  latest_revision_number: Type.Integer(),
});
export type Document = Static<typeof Document>;

export const DocumentRevision = Type.Object({
  id: Uuid,
  document_id: Uuid,
  revision_number: Type.Integer(),
  title: Type.String(),
  body: Type.String(),
  /** For a restore: the revision whose text was restored. */
  restored_from_revision_id: Nullable(Uuid),
  created_by_agent_id: Nullable(Uuid),
  created_by_user_id: Nullable(Uuid),
  created_at: Timestamp,
});
export type DocumentRevision = Static<typeof DocumentRevision>;

export const PutDocument = Type.Object({ title: Name, body: Text });
export type PutDocument = Static<typeof PutDocument>;

const byIssue = { by: 'issue', param: 'issueId' } as const;
const path = '/api/issues/{issueId}/documents';

export const documentEndpoints = {
  list: endpoint({
    id: 'documents.list',
    method: 'GET',
    path,
    auth: BEARER,
    role: 'viewer',
    scope: byIssue,
    query: Type.Object(PageQuery),
    response: Type.Array(Document),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The documents of the issue, newest first.',
  }),
  put: endpoint({
    id: 'documents.put',
    method: 'PUT',
    path: `${path}/{key}`,
    auth: BEARER,
    role: 'member',
    scope: byIssue,
    permission: 'issues.update',
    body: PutDocument,
    response: Document,
    status: 200,
    tx: 'write',
    example: { title: 'Plan', body: '1. Choose a place.\n2. Copy.' },
    doc: 'Writes a new revision; the first one creates the document.',
  }),
  get: endpoint({
    id: 'documents.get',
    method: 'GET',
    path: `${path}/{key}`,
    auth: BEARER,
    role: 'viewer',
    scope: byIssue,
    response: Document,
    status: 200,
    tx: 'none',
    doc: 'The document with its latest text.',
  }),
  revisions: endpoint({
    id: 'documents.revisions',
    method: 'GET',
    path: `${path}/{key}/revisions`,
    auth: BEARER,
    role: 'viewer',
    scope: byIssue,
    query: Type.Object(PageQuery),
    response: Type.Array(DocumentRevision),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The history of the document, newest first; at most 1,000 or 4 MB unless `limit` is given.',
  }),
  restore: endpoint({
    id: 'documents.restore',
    method: 'POST',
    path: `${path}/{key}/revisions/{revisionId}/restore`,
    auth: BEARER,
    role: 'member',
    scope: byIssue,
    permission: 'issues.update',
    response: Document,
    status: 200,
    tx: 'write',
    doc: 'Writes a new revision with an old one’s text; the history is unchanged.',
  }),
};
