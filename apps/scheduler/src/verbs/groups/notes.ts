import { createValidator, CreateNote, ListNotes, UpdateNote } from '@acp/contract';
import type { NoteKind } from '@acp/contract';
import { archiveNote, createNote, listNotes, noteNamed, unarchiveNote, updateNote } from '@acp/core';
import type { NoteRow } from '@acp/core';
import { inline, quoted } from '@acp/adapters';
import { limitOf, textOf, words } from '../resolve.ts';
import type { Verb, VerbContext, VerbGroup } from '../verb.ts';

/** In characters, per note in an answer. */
const SHOWN = 20_000;

const validNote = createValidator(CreateNote, 'the note');
const validChange = createValidator(UpdateNote, 'the note');
const validQuery = createValidator(ListNotes, 'the list', true);

const noteOf = async (context: VerbContext): Promise<NoteRow> =>
  noteNamed(context.tx, context.run.company_id, textOf(context, 'the title or id of a note'));

/** A note remembers the issue that it was written for. */
function creating(kind: NoteKind): Verb {
  return {
    permission: 'notes.write',
    commit: async (context) => {
      const { tx, run, action } = context;
      const title = textOf(context, 'a title');
      const note = validNote({ title, kind, body_markdown: action.body, issue_id: run.issue_id });
      const { id } = await createNote(tx, run.actor, run.company_id, note);
      return { text: `${kind} ${inline(title, 100)} written (${id})`, changed: true };
    },
  };
}

/** Archives or restores a note; if it is already in that state, nothing changes. */
function archiveVerb(shelve: typeof archiveNote, archived: boolean): Verb {
  return {
    permission: 'notes.write',
    commit: async (context) => {
      const note = await noteOf(context);
      await shelve(context.tx, context.run.actor, note);
      const words_for = archived ? 'is archived' : 'is back from the archive';
      return {
        text: `note ${inline(note.title, 100)} ${words_for}`,
        changed: (note.archived_at !== null) !== archived,
      };
    },
  };
}

export const notes: VerbGroup = {
  'create-note': creating('note'),
  'record-finding': creating('finding'),
  'edit-note': {
    permission: 'notes.write',
    commit: async (context) => {
      const { tx, run, action } = context;
      const note = await noteOf(context);
      await updateNote(tx, run.actor, note, validChange({ body_markdown: action.body }));
      return {
        text: `note ${inline(note.title, 100)} rewritten`,
        changed: note.body_markdown !== action.body,
      };
    },
  },
  'archive-note': archiveVerb(archiveNote, true),
  'unarchive-note': archiveVerb(unarchiveNote, false),
  'get-note': {
    commit: async (context) => {
      const { id, title, kind, tags, body_markdown, archived_at: archived } = await noteOf(context);
      const about = [
        `${kind} ${id}`,
        ...tags.map((tag) => inline(tag, 100)),
        ...(archived ? ['archived'] : []),
      ];
      return {
        text: `${about.join(', ')}\n${quoted('note', body_markdown, SHOWN, { title })}`,
        changed: false,
      };
    },
  },
  'list-notes': {
    commit: async (context) => {
      const { tx, run, action } = context;
      words(context);
      const { kind, q, limit } = action.args.named;
      const query = validQuery({
        limit: limitOf(limit),
        ...(kind === undefined ? {} : { kind: kind.toLowerCase() }),
        ...(q === undefined ? {} : { q }),
      });
      const { items } = await listNotes(tx, run.company_id, query);
      const lines = items.map((note) => `${note.id} [${note.kind}] ${inline(note.title, 200)}`);
      return { text: lines.join('\n') || 'no notes', changed: false };
    },
  },
};
