import type { Actor, CreateNote, Note, UpdateNote } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, notFound } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { actorColumns, type Change, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { assertReferences, moveToTrash, withoutUnchanged } from '../trash/index.ts';
import { type NoteRow, presentNote, noteColumns } from './present.ts';

const { notes } = schema;

/** @throws invalid for an issue from another company */
export async function createNote(tx: Tx, actor: Actor, company_id: string, input: CreateNote): Promise<Note> {
  await assertReferences(tx, 'notes', company_id, input);
  await assertRoom(tx, 'notes', company_id);
  const author = actorColumns(actor);
  const [row] = await tx
    .insert(notes)
    .values({
      company_id,
      title: input.title,
      body_markdown: input.body_markdown ?? '',
      kind: input.kind,
      tags: input.tags && [...new Set(input.tags)],
      issue_id: input.issue_id,
      created_by_agent_id: author.agent_id,
      created_by_user_id: author.user_id,
    })
    .returning(noteColumns);
  await recordChanges(tx, actor, [changeOf(row!, 'note.created')]);
  return presentNote(row!);
}

/** Changes a note; absent fields stay. */
export async function updateNote(tx: Tx, actor: Actor, note: NoteRow, body: UpdateNote): Promise<Note> {
  const input = withoutUnchanged('notes', note, body);
  await assertReferences(tx, 'notes', note.company_id, input, note.id);
  const { title, body_markdown, kind, issue_id } = input;
  const tags = input.tags && [...new Set(input.tags)];
  const row = await change(tx, note, { title, body_markdown, kind, issue_id, tags });
  await recordChanges(tx, actor, [changeOf(row, 'note.updated', { fields: Object.keys(input) })]);
  return presentNote(row);
}

/** Archived notes are only listed on request. Idempotent. */
export async function archiveNote(tx: Tx, actor: Actor, note: NoteRow): Promise<Note> {
  if (note.archived_at !== null) return presentNote(note);
  const row = await change(tx, note, { archived_at: sql`coalesce(${notes.archived_at}, now())` });
  await recordChanges(tx, actor, [changeOf(row, 'note.archived')]);
  return presentNote(row);
}

export async function unarchiveNote(tx: Tx, actor: Actor, note: NoteRow): Promise<Note> {
  if (note.archived_at === null) return presentNote(note);
  const row = await change(tx, note, { archived_at: null });
  await recordChanges(tx, actor, [changeOf(row, 'note.unarchived')]);
  return presentNote(row);
}

export async function deleteNote(tx: Tx, actor: Actor, note: NoteRow): Promise<void> {
  const row = await change(tx, note, { deleted_at: sql`now()` });
  const { id, company_id, title } = row;
  await moveToTrash(tx, actor, { type: 'note', entity_id: id, company_id, name: title });
  await recordChanges(tx, actor, [changeOf(row, 'note.deleted')]);
}

/** Restores it from the trash. @throws conflict if it is not there */
export async function restoreNote(tx: Tx, actor: Actor, note_id: string): Promise<void> {
  const [row] = await tx
    .update(notes)
    .set({ deleted_at: null, updated_at: sql`now()` })
    .where(eq(notes.id, note_id))
    .returning(noteColumns);
  if (!row) throw conflict('the note is gone');
  await recordChanges(tx, actor, [changeOf(row, 'note.restored')]);
}

/** Deletes it for good. @returns the deleted ids */
export async function purgeNote(tx: Tx, note_id: string): Promise<string[]> {
  await tx.delete(notes).where(eq(notes.id, note_id));
  return [note_id];
}

type Columns = Parameters<ReturnType<Tx['update']>['set']>[0];

async function change(tx: Tx, note: NoteRow, set: Columns): Promise<NoteRow> {
  const [row] = await tx
    .update(notes)
    .set({ ...set, updated_at: sql`now()` })
    .where(and(eq(notes.id, note.id), isNull(notes.deleted_at)))
    .returning(noteColumns);
  if (!row) throw notFound();
  return row;
}

function changeOf(row: NoteRow, action: string, details: Record<string, unknown> = {}): Change {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'note',
    entity_id: row.id,
    details: { title: row.title, kind: row.kind, ...details },
  };
}
