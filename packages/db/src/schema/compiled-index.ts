import { sql } from 'drizzle-orm';
import { index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { companies } from './companies.ts';
import { knowledge_sources } from './knowledge.ts';

/** Compilation settings of a company's index. */
export const compile_settings = pgTable(
  'compile_settings',
  {
    company_id: uuid()
      .primaryKey()
      .references(() => companies.id, { onDelete: 'cascade' }),
    agent_id: uuid().references(() => agents.id, { onDelete: 'set null' }),
    every_hours: integer(),
    /** Null: compiled manually only. */
    next_at: instant(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('compile_settings_agent').on(t.agent_id),
    index('compile_settings_due')
      .on(t.next_at)
      .where(sql`${t.next_at} is not null`),
  ],
);

/** A version of a company's index. Every transaction that advances it locks its row, after its agent's. */
export const compiled_indexes = pgTable(
  'compiled_indexes',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    agent_id: uuid().notNull(),
    version: integer().notNull(),
    status: text().notNull().default('compiling'),
    error: text(),
    waiting_reason: text(),
    promoted_by_user_id: uuid(),
    promoted_at: instant(),
    created_at: createdAt(),
    finished_at: instant(),
  },
  (t) => [
    uniqueIndex('compiled_indexes_version').on(t.company_id, t.version.desc()),
    uniqueIndex('compiled_indexes_one')
      .on(t.company_id, t.status)
      .where(sql`${t.status} in ('compiling', 'draft', 'promoted')`),
    index('compiled_indexes_compiling')
      .on(t.created_at)
      .where(sql`${t.status} = 'compiling'`),
  ],
);

export const compiled_statements = pgTable(
  'compiled_statements',
  {
    id: id(),
    index_id: uuid()
      .notNull()
      .references(() => compiled_indexes.id, { onDelete: 'cascade' }),
    ordinal: integer().notNull(),
    topic: text().notNull(),
    text: text().notNull(),
  },
  (t) => [index('compiled_statements_index').on(t.index_id, t.ordinal)],
);

/** The source of a statement. Triggers on `knowledge_sources` set the state, in the transaction that changes the source. */
export const compiled_citations = pgTable(
  'compiled_citations',
  {
    statement_id: uuid()
      .notNull()
      .references(() => compiled_statements.id, { onDelete: 'cascade' }),
    /** Key in `knowledge_sources`; outlives the source, to show that it is gone. */
    source_key: uuid().notNull(),
    /** `current`, `changed`, `gone`. */
    state: text().notNull().default('current'),
  },
  (t) => [
    primaryKey({ columns: [t.statement_id, t.source_key] }),
    index('compiled_citations_source').on(t.source_key),
  ],
);

/** Portions of a compilation, each read by a run: a portion that is `done` is never requested again. */
export const compiled_batches = pgTable(
  'compiled_batches',
  {
    index_id: uuid()
      .notNull()
      .references(() => compiled_indexes.id, { onDelete: 'cascade' }),
    number: integer().notNull(),
    source_keys: uuid().array().notNull(),
    /** Revisions of the sources at planning time, in the same order. */
    revisions: integer().array().notNull(),
    run_id: uuid(),
    /** `planned`, `asked` (its run is waiting or running), `done`, `failed`. */
    status: text().notNull().default('planned'),
    attempts: integer().notNull().default(0),
    error: text(),
    error_category: text(),
  },
  (t) => [
    primaryKey({ columns: [t.index_id, t.number] }),
    uniqueIndex('compiled_batches_run')
      .on(t.run_id)
      .where(sql`${t.run_id} is not null`),
  ],
);

/** The revision of each source that has been read, whatever came out of it. */
export const compiled_sources = pgTable(
  'compiled_sources',
  {
    source_key: uuid()
      .primaryKey()
      .references(() => knowledge_sources.id, { onDelete: 'cascade' }),
    revision: integer().notNull(),
    /** The version it was read for: if that is discarded, the source counts as unread. */
    index_id: uuid().references(() => compiled_indexes.id, { onDelete: 'set null' }),
  },
  (t) => [index('compiled_sources_index').on(t.index_id)],
);
