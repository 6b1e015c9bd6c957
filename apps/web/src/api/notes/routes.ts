import { noteEndpoints as rows } from '@acp/contract';
import {
  archiveNote,
  createNote,
  deleteNote,
  listNotes,
  presentNote,
  unarchiveNote,
  updateNote,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const noteRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listNotes(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) => createNote(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.get, (c) => presentNote(c.subject)),
  handle(rows.update, (c) => updateNote(c.tx, c.actor, c.subject, c.body)),
  handle(rows.delete, (c) => deleteNote(c.tx, c.actor, c.subject)),
  handle(rows.archive, (c) => archiveNote(c.tx, c.actor, c.subject)),
  handle(rows.unarchive, (c) => unarchiveNote(c.tx, c.actor, c.subject)),
];
