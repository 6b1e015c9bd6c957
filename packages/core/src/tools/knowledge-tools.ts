import { searchKnowledge } from '../knowledge/index.ts';
import {
  archiveNote,
  createNote,
  listNotes,
  noteNamed,
  presentNote,
  unarchiveNote,
  updateNote,
} from '../notes/index.ts';
import { createSkill, listSkills, presentSkill, skillNamed } from '../skills/index.ts';
import type { Tools } from './tool.ts';

/** Notes, skills, and the search of all that is known. */
export const knowledgeTools = {
  search_knowledge: (c, { q, limit }) => searchKnowledge(c.tx, c.company_id, { question: q, limit }),
  list_notes: (c, input) => listNotes(c.tx, c.company_id, input),
  get_note: async (c, { note }) => presentNote(await noteNamed(c.tx, c.company_id, note)),
  create_note: (c, input) => createNote(c.tx, c.actor, c.company_id, input),
  update_note: async (c, { note, ...fields }) =>
    updateNote(c.tx, c.actor, await noteNamed(c.tx, c.company_id, note), fields),
  archive_note: async (c, { note }) => archiveNote(c.tx, c.actor, await noteNamed(c.tx, c.company_id, note)),
  unarchive_note: async (c, { note }) =>
    unarchiveNote(c.tx, c.actor, await noteNamed(c.tx, c.company_id, note)),
  list_skills: (c, input) => listSkills(c.tx, c.company_id, input),
  get_skill: async (c, { skill }) => presentSkill(await skillNamed(c.tx, c.company_id, skill)),
  create_skill: (c, input) => createSkill(c.tx, c.actor, c.company_id, input),
} satisfies Partial<Tools>;
