import { sql } from 'drizzle-orm';
import { boolean, index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { companies } from './companies.ts';
import { createdAt, deletedAt, id, updatedAt } from './columns.ts';

export const skills = pgTable(
  'skills',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    slug: text().notNull(),
    name: text().notNull(),
    description: text().notNull(),
    body_markdown: text().notNull(),
    version: integer().notNull().default(1),
    enabled: boolean().notNull().default(true),
    /** Part of every agent's skill tree, attached or not. */
    company_wide: boolean().notNull().default(false),
    created_at: createdAt(),
    updated_at: updatedAt(),
    deleted_at: deletedAt(),
  },
  (t) => [
    uniqueIndex('skills_company_slug')
      .on(t.company_id, t.slug)
      .where(sql`${t.deleted_at} is null`),
    index('skills_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
  ],
);

export const agent_skills = pgTable(
  'agent_skills',
  {
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    skill_id: uuid()
      .notNull()
      .references(() => skills.id, { onDelete: 'cascade' }),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.agent_id, t.skill_id] }), index('agent_skills_skill').on(t.skill_id)],
);

/** An agent's own skills and files; the bytes are in the storage under `agents/<id>/` (decisions 6). */
export const agent_files = pgTable(
  'agent_files',
  {
    id: id(),
    company_id: uuid().notNull(),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    /** `skill` (path is the slug) or `file` (a relative path in the home). */
    kind: text().notNull(),
    path: text().notNull(),
    size_bytes: integer().notNull(),
    sha256: text().notNull(),
    storage_key: text().notNull(),
    /** The text of a skill, for prompts; null for files. */
    content: text(),
    updated_at: updatedAt(),
  },
  (t) => [uniqueIndex('agent_files_path').on(t.agent_id, t.kind, t.path)],
);

/**
 * Texts of the files of agents with `files_as_knowledge`, for the knowledge search. Triggers write the rows, a scheduler
 * extracts the texts.
 */
export const agent_file_texts = pgTable(
  'agent_file_texts',
  {
    file_id: uuid()
      .primaryKey()
      .references(() => agent_files.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    agent_id: uuid().notNull(),
    /** `pending`, `reading` (claimed by a scheduler), `done`, `none` (nothing to extract), `failed`. */
    status: text().notNull().default('pending'),
    /** Number of schedulers that died while reading it. */
    losses: integer().notNull().default(0),
    extracted_text: text(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('agent_file_texts_agent').on(t.agent_id),
    index('agent_file_texts_open')
      .on(t.company_id, t.updated_at, t.file_id)
      .where(sql`${t.status} in ('pending', 'reading')`),
  ],
);
