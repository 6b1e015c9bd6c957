import type { Actor } from '@acp/contract';
import { rowsOf, schema, type Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { actorColumns } from '../activity/index.ts';

const { document_revisions, documents } = schema;

export interface NewDocument {
  issue_id: string;
  key: string;
  title: string;
  body: string;
}

/** Inserts a list for an import, each document with one revision. */
export async function insertDocuments(
  tx: Tx,
  actor: Actor,
  company_id: string,
  list: readonly NewDocument[],
): Promise<void> {
  if (list.length === 0) return;
  const { user_id } = actorColumns(actor);
  const made = list.map((document) => ({ ...document, id: newId(), revision_id: newId() }));
  const rows = made.map(({ id, issue_id, key, title, revision_id }) => {
    const latest = { latest_revision_id: revision_id, latest_revision_number: 1 };
    return { id, document_id: newId(), company_id, issue_id, key, title, ...latest };
  });
  const revisions = made.map(({ id, revision_id, title, body }) => ({
    id: revision_id,
    document_id: id,
    revision_number: 1,
    title,
    body,
    created_by_user_id: user_id,
  }));
  await tx.execute(sql`insert into documents ${rowsOf(documents, rows)}`);
  await tx.execute(sql`insert into document_revisions ${rowsOf(document_revisions, revisions)}`);
}
