import type { Actor, NoteKind } from '@acp/contract';
import { rowsOf, schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { actorColumns } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';

const { notes } = schema;

export interface NewNote {
  id: string;
  title: string;
  body_markdown: string;
  kind: NoteKind;
  tags: readonly string[];
  issue_id: string | null;
  archived_at: string | null;
}

/** Inserts a list for an import, which has checked its references. */
export async function insertNotes(
  tx: Tx,
  actor: Actor,
  company_id: string,
  rows: readonly NewNote[],
): Promise<void> {
  if (rows.length === 0) return;
  await assertRoom(tx, 'notes', company_id, rows.length);
  const { user_id } = actorColumns(actor);
  const values = rows.map((row) => ({ ...row, company_id, created_by_user_id: user_id }));
  await tx.execute(sql`insert into notes ${rowsOf(notes, values)}`);
}
