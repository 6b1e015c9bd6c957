/** Owns `notes`, written by people and agents. A trashed note counts as absent, an archived one is hidden by default. */
export { insertNotes } from './insert-notes.ts';
export type { NewNote } from './insert-notes.ts';
export { findNote, listNotes, noteNamed } from './list-notes.ts';
export {
  archiveNote,
  createNote,
  deleteNote,
  purgeNote,
  restoreNote,
  unarchiveNote,
  updateNote,
} from './notes.ts';
export { presentNote } from './present.ts';
export type { NoteRow } from './present.ts';
