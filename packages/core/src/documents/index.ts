/**
 * Owns `documents` and `document_revisions`: keyed texts of issues. Invariants: history is append-only and numbered without
 * gaps, and the latest revision is the one with the highest number, even with concurrent writers.
 */
export {
  findDocument,
  findRevision,
  hasDocument,
  listDocumentHeads,
  listDocuments,
  listRevisionHeads,
  listRevisions,
} from './read-documents.ts';
export type { DocumentHead } from './present.ts';
export type { RevisionHead } from './read-documents.ts';
export { insertDocuments } from './insert-documents.ts';
export type { NewDocument } from './insert-documents.ts';
export { isKey, putDocument, restoreRevision } from './write-documents.ts';
