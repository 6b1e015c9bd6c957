import type { ToolInput } from '@acp/contract';
import { type QuestionVector, searchKnowledge } from '../knowledge/index.ts';
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
import type { ToolProvider } from './provider.ts';
import type { Tools } from './tool.ts';

type EmbedQuestion = (
  company_id: string,
  question: string,
  signal: AbortSignal,
) => Promise<QuestionVector | null>;

/** In milliseconds. Embedding has a shorter timeout of its own. */
const SEARCH_MS = 10_000;

/** The tool `search_knowledge` if questions can be embedded: also searches by meaning. */
export function hybridSearch(embed: EmbedQuestion): ToolProvider {
  return {
    name: 'knowledge',
    list: async () => Promise.resolve([]),
    timeout_ms: SEARCH_MS,
    prepare: async ({ company_id, input }, signal) => embed(company_id, searchOf(input).q, signal),
    commit: async (tx, { company_id, input }, prepared) => {
      const { q: question, limit } = searchOf(input);
      return searchKnowledge(tx, company_id, { question, limit, vector: prepared as QuestionVector | null });
    },
  };
}

/** Already validated by the tool's schema. */
const searchOf = (input: unknown) => input as ToolInput<'search_knowledge'>;

/** Notes, skills, and full-text search of all knowledge. */
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
