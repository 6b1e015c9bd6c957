/** Notes written by people and agents (decisions 3, Note). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Name, Nullable, OneOf, PageQuery, Patch, Text, Timestamp, Uuid } from './schema-kit.ts';

export const noteKinds = ['note', 'finding', 'memory'] as const;
export type NoteKind = (typeof noteKinds)[number];

export const Note = Type.Object({
  id: Uuid,
  company_id: Uuid,
  title: Type.String(),
  body_markdown: Type.String(),
  kind: OneOf(noteKinds),
  tags: Type.Array(Type.String()),
  issue_id: Nullable(Uuid),
  created_by_agent_id: Nullable(Uuid),
  created_by_user_id: Nullable(Uuid),
  archived_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Note = Static<typeof Note>;

export const UpdateNote = Patch({
  title: Name,
  /** Search covers the first 200,000 characters of title and text. */
  body_markdown: Text,
  kind: OneOf(noteKinds),
  tags: Type.Array(Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000]*\\S[^\\u0000]*$' }), {
    maxItems: 50,
  }),
  issue_id: Nullable(Uuid),
});
export type UpdateNote = Static<typeof UpdateNote>;
export const CreateNote = Type.Object({ ...UpdateNote.properties, title: Name });
export type CreateNote = Static<typeof CreateNote>;

export const ListNotes = Type.Object({
  /** Words of the text, or a similar title. */
  q: Type.Optional(Type.String({ maxLength: 500 })),
  /** Comma-separated. */
  kind: Type.Optional(Type.String({ maxLength: 100 })),
  /** Only archived notes; by default only those that are not. */
  archived: Type.Optional(Type.Boolean()),
  ...PageQuery,
});
export type ListNotes = Static<typeof ListNotes>;

const ofCompany = {
  path: '/api/companies/{companyId}/notes',
  auth: BEARER,
  scope: { by: 'company', param: 'companyId' },
} as const;
const one = { path: '/api/notes/{noteId}', auth: BEARER, scope: { by: 'note', param: 'noteId' } } as const;
const write = { role: 'member', permission: 'notes.write', tx: 'write' } as const;
const read = { method: 'GET', role: 'viewer', status: 200, tx: 'none' } as const;

export const noteEndpoints = {
  list: endpoint({
    ...ofCompany,
    ...read,
    id: 'notes.list',
    query: ListNotes,
    response: Type.Array(Note),
    paged: true,
    doc: 'Notes that are not archived, newest first; with `q`, best matches first.',
  }),
  create: endpoint({
    ...ofCompany,
    ...write,
    id: 'notes.create',
    method: 'POST',
    body: CreateNote,
    response: Note,
    status: 201,
    example: { title: 'Where backups lie', body_markdown: 'In the cellar.', tags: ['backup'] },
    doc: 'Writes a note.',
  }),
  get: endpoint({ ...one, ...read, id: 'notes.get', response: Note, doc: 'The note.' }),
  update: endpoint({
    ...one,
    ...write,
    id: 'notes.update',
    method: 'PATCH',
    body: UpdateNote,
    response: Note,
    status: 200,
    example: { body_markdown: 'In the attic.' },
    doc: 'Changes a note.',
  }),
  delete: endpoint({
    ...one,
    ...write,
    id: 'notes.delete',
    method: 'DELETE',
    response: null,
    status: 204,
    doc: 'Moves the note to the trash.',
  }),
  archive: endpoint({
    ...one,
    ...write,
    id: 'notes.archive',
    method: 'POST',
    path: '/api/notes/{noteId}/archive',
    response: Note,
    status: 200,
    doc: 'Archives the note; idempotent.',
  }),
  unarchive: endpoint({
    ...one,
    ...write,
    id: 'notes.unarchive',
    method: 'POST',
    path: '/api/notes/{noteId}/unarchive',
    response: Note,
    status: 200,
    doc: 'Unarchives the note.',
  }),
};
