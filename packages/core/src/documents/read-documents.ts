import type { Document, DocumentRevision } from '@acp/contract';
import {
  byCreation,
  MOST_ROWS,
  newestFirst,
  type Page,
  type PageRequest,
  readWithinBytes,
  schema,
  type Tx,
} from '@acp/db';
import { decodeCursor, encodeCursor, notFound } from '@acp/kernel';
import { and, desc, eq, getTableColumns, sql } from 'drizzle-orm';
import type { IssueRow } from '../issues/index.ts';
import {
  type DocumentHead,
  type DocumentRow,
  presentDocument,
  presentHead,
  presentRevision,
} from './present.ts';

const { documents, document_revisions } = schema;

const LARGEST_PAGE = 200;

const withBody = { ...getTableColumns(documents), body: document_revisions.body };
const latest = eq(document_revisions.id, documents.latest_revision_id);

/** Newest first. Throws `invalid` for a bad cursor. */
export async function listDocuments(tx: Tx, issue: IssueRow, query: PageRequest): Promise<Page<Document>> {
  const page = newestFirst(documents.created_at, documents.id, query, null);
  const rows = tx
    .select(withBody)
    .from(documents)
    .innerJoin(document_revisions, latest)
    .where(and(eq(documents.issue_id, issue.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, (row) => presentDocument(row, row.body));
}

/** The same without the texts, for lists that show none: fifty texts may be as many megabytes. */
export async function listDocumentHeads(
  tx: Tx,
  issue: IssueRow,
  query: PageRequest,
): Promise<Page<DocumentHead>> {
  const page = newestFirst(documents.created_at, documents.id, query, null);
  const rows = await tx
    .select()
    .from(documents)
    .where(and(eq(documents.issue_id, issue.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, byCreation, presentHead);
}

/** Throws `notFound`. */
export async function findDocument(tx: Tx, issue: IssueRow, key: string): Promise<Document> {
  const [row] = await tx
    .select(withBody)
    .from(documents)
    .innerJoin(document_revisions, latest)
    .where(byKey(issue, key));
  if (!row) throw notFound();
  return presentDocument(row, row.body);
}

export async function hasDocument(tx: Tx, issue: IssueRow, key: string): Promise<boolean> {
  const found = await tx.select({ id: documents.id }).from(documents).where(byKey(issue, key));
  return found.length > 0;
}

/** Newest first; without a limit, as many as fit into a response. Throws `notFound`, and `invalid` for a bad cursor. */
export async function listRevisions(
  tx: Tx,
  issue: IssueRow,
  key: string,
  query: PageRequest,
): Promise<Page<DocumentRevision>> {
  const [document] = await tx.select().from(documents).where(byKey(issue, key));
  if (!document) throw notFound();
  const size = query.limit === undefined ? MOST_ROWS : Math.min(query.limit, LARGEST_PAGE);
  const [before] = query.cursor === undefined ? [] : decodeCursor(query.cursor, ['integer']);
  // By number, since revisions may have the same timestamp.
  const list = tx
    .select()
    .from(document_revisions)
    .where(
      and(
        eq(document_revisions.document_id, document.id),
        before === undefined ? undefined : sql`${document_revisions.revision_number} < ${before}::int`,
      ),
    )
    .orderBy(desc(document_revisions.revision_number))
    .limit(size + 1);
  const { rows, more } = await readWithinBytes(tx, list);
  const items = rows.slice(0, size);
  const last = more || rows.length > size ? items.at(-1) : undefined;
  return {
    items: items.map((row) => presentRevision(row, document.document_id)),
    next_cursor: last === undefined ? null : encodeCursor([last.revision_number]),
  };
}

/** A revision without its text. */
export type RevisionHead = Pick<DocumentRevision, 'id' | 'revision_number' | 'title' | 'created_at'>;

/** Revisions before the latest, newest first, for lists without texts. Throws `invalid` for a bad cursor. */
export async function listRevisionHeads(
  tx: Tx,
  document: Document,
  { cursor, limit }: { cursor?: string | undefined; limit: number },
): Promise<Page<RevisionHead>> {
  const [before] =
    cursor === undefined ? [document.latest_revision_number] : decodeCursor(cursor, ['integer']);
  const { id, revision_number, title, created_at } = document_revisions;
  const rows = await tx
    .select({ id, revision_number, title, created_at })
    .from(document_revisions)
    .where(and(eq(document_revisions.document_id, document.id), sql`${revision_number} < ${before}::int`))
    .orderBy(desc(revision_number))
    .limit(limit + 1);
  const items = rows.slice(0, limit);
  return {
    items,
    next_cursor: rows.length > limit ? encodeCursor([items.at(-1)!.revision_number]) : null,
  };
}

/** Throws `notFound` for another document's revision. */
export async function findRevision(
  tx: Tx,
  issue: IssueRow,
  key: string,
  revision_id: string,
): Promise<DocumentRevision> {
  const [row] = await tx
    .select({ revision: document_revisions, document_id: documents.document_id })
    .from(document_revisions)
    .innerJoin(documents, eq(documents.id, document_revisions.document_id))
    .where(and(byKey(issue, key), eq(document_revisions.id, revision_id)));
  if (!row) throw notFound();
  return presentRevision(row.revision, row.document_id);
}

/** The locked row, which serialises writes to the document. Throws `notFound`. */
export async function lockDocument(tx: Tx, issue: IssueRow, key: string): Promise<DocumentRow> {
  const [row] = await tx.select().from(documents).where(byKey(issue, key)).for('update');
  if (!row) throw notFound();
  return row;
}

function byKey(issue: IssueRow, key: string) {
  return and(eq(documents.issue_id, issue.id), eq(documents.key, key));
}
