import type { Note, NoteKind } from '@acp/contract';
import { schema } from '@acp/db';
import { shownColumns } from '../trash/index.ts';

export type NoteRow = typeof schema.notes.$inferSelect;

/** As shown to clients: references to trashed entities are null. */
export const noteColumns = shownColumns(schema.notes);

export function presentNote(row: NoteRow): Note {
  return {
    id: row.id,
    company_id: row.company_id,
    title: row.title,
    body_markdown: row.body_markdown,
    kind: row.kind as NoteKind,
    tags: row.tags,
    issue_id: row.issue_id,
    created_by_agent_id: row.created_by_agent_id,
    created_by_user_id: row.created_by_user_id,
    archived_at: row.archived_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
