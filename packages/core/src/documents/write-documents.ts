import type { Actor, Document, PutDocument } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { invalid, isUuid, newId, notFound } from '@acp/kernel';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { assertRoom, beyondHistory, HISTORY } from '../bounds/index.ts';
import { type IssueRow, issueUpdated } from '../issues/index.ts';
import { type DocumentRow, presentDocument } from './present.ts';
import { lockDocument } from './read-documents.ts';

const { documents, document_revisions } = schema;

const LONGEST_KEY = 200;

/**
 * Writes a new revision; the first one creates the document. With concurrent writers the last text becomes the latest, and all
 * of them are in the history. Throws `invalid` for an invalid key.
 */
export async function putDocument(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  key: string,
  input: PutDocument,
): Promise<Document> {
  if (!isKey(key)) throw invalid('invalid document key');
  return writeRevision(tx, actor, issue, { key, ...input, restored_from: null });
}

/** Writes a new revision with an earlier revision's text. Throws `notFound` for an unknown document or revision. */
export async function restoreRevision(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  key: string,
  revisionId: string,
): Promise<Document> {
  if (!isUuid(revisionId)) throw notFound();
  const document = await lockDocument(tx, issue, key);
  const [old] = await tx
    .select()
    .from(document_revisions)
    .where(and(eq(document_revisions.id, revisionId), eq(document_revisions.document_id, document.id)));
  if (!old) throw notFound();
  return writeRevision(tx, actor, issue, { key, title: old.title, body: old.body, restored_from: old.id });
}

/** A document's key: a single line without surrounding spaces. */
export function isKey(key: string): boolean {
  return key.length <= LONGEST_KEY && key.trim() === key && key !== '' && !/\p{Cc}/u.test(key);
}

interface NewRevision extends PutDocument {
  key: string;
  restored_from: string | null;
}

/** The upsert locks the document's row, which reserves the next number. */
async function writeRevision(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  { key, title, body, restored_from }: NewRevision,
): Promise<Document> {
  const revision_id = newId();
  const [document] = await tx
    .insert(documents)
    .values({
      company_id: issue.company_id,
      issue_id: issue.id,
      key,
      title,
      latest_revision_id: revision_id,
      latest_revision_number: 1,
    })
    .onConflictDoUpdate({
      target: [documents.issue_id, documents.key],
      set: {
        title,
        latest_revision_id: revision_id,
        latest_revision_number: sql`${documents.latest_revision_number} + 1`,
        updated_at: sql`now()`,
      },
    })
    .returning();
  if (document!.latest_revision_number === 1) await assertRoom(tx, 'documents', issue.id, 0);
  const { id, latest_revision_number: revision_number } = document!;
  const author = actorColumns(actor);
  await tx.insert(document_revisions).values({
    id: revision_id,
    document_id: id,
    revision_number,
    title,
    body,
    restored_from_revision_id: restored_from,
    created_by_agent_id: author.agent_id,
    created_by_user_id: author.user_id,
  });
  if (revision_number > HISTORY.fewest) await trimRevisions(tx, id);
  await recordChanges(tx, actor, [changeOf(issue, document!, restored_from)]);
  return presentDocument(document!, body);
}

/** Removes the oldest revisions that are too many; later ones that restored them keep their text. */
async function trimRevisions(tx: Tx, document_id: string): Promise<void> {
  const beyond = beyondHistory({
    table: sql`document_revisions r`,
    where: sql`r.document_id = ${document_id}`,
    key: sql`r.id`,
    newest_first: sql`r.revision_number desc`,
    text: sql`r.body`,
  });
  const gone = await tx
    .delete(document_revisions)
    .where(sql`${document_revisions.id} in ${beyond}`)
    .returning({ id: document_revisions.id });
  if (gone.length === 0) return;
  const ids = gone.map(({ id }) => id);
  await tx
    .update(document_revisions)
    .set({ restored_from_revision_id: null })
    .where(
      and(
        eq(document_revisions.document_id, document_id),
        inArray(document_revisions.restored_from_revision_id, ids),
      ),
    );
}

function changeOf(issue: IssueRow, document: DocumentRow, restoredFrom: string | null) {
  const { id, key, latest_revision_number: revision_number } = document;
  const first = revision_number === 1 ? 'document.created' : 'document.updated';
  return {
    ...issueUpdated(issue, restoredFrom === null ? first : 'document.restored', {
      issue_id: issue.id,
      key,
      revision_number,
      ...(restoredFrom !== null && { restored_from_revision_id: restoredFrom }),
    }),
    entity_type: 'document',
    entity_id: id,
  };
}
