import type { Document, DocumentRevision } from '@acp/contract';
import type { schema } from '@acp/db';

export type DocumentRow = typeof schema.documents.$inferSelect;
type RevisionRow = typeof schema.document_revisions.$inferSelect;

export const presentDocument = (row: DocumentRow, body: string): Document => ({
  ...presentHead(row),
  latest_body: body,
});

/** A document without its text. */
export type DocumentHead = Omit<Document, 'latest_body'>;

export function presentHead(row: DocumentRow): DocumentHead {
  return {
    id: row.id,
    company_id: row.company_id,
    issue_id: row.issue_id,
    document_id: row.document_id,
    key: row.key,
    title: row.title,
    latest_revision_id: row.latest_revision_id,
    latest_revision_number: row.latest_revision_number,
  };
}

export function presentRevision(row: RevisionRow, documentId: string): DocumentRevision {
  return {
    id: row.id,
    document_id: documentId,
    revision_number: row.revision_number,
    title: row.title,
    body: row.body,
    restored_from_revision_id: row.restored_from_revision_id,
    created_by_agent_id: row.created_by_agent_id,
    created_by_user_id: row.created_by_user_id,
    created_at: row.created_at,
  };
}
