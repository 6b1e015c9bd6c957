import { sql } from 'drizzle-orm';
import {
  boolean,
  customType,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { companies } from './companies.ts';
import { id, instant, updatedAt } from './columns.ts';
import { users } from './identity.ts';

const varbit = customType<{ data: string }>({ dataType: () => 'varbit' });
const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** What the agents of a company have learnt of a user who asks them for work. */
export const user_models = pgTable(
  'user_models',
  {
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    body_markdown: text().notNull(),
    updated_by_agent_id: uuid(),
    updated_at: updatedAt(),
  },
  (t) => [primaryKey({ columns: [t.company_id, t.user_id] }), index('user_models_user').on(t.user_id)],
);

/**
 * What the search of knowledge looks at. Triggers on the tables of the sources write the rows, in the transaction that
 * changes the source, by whichever path: a source that goes takes its row and chunks along, one that changes counts up
 * `revision`. Chunks are served only while they are of the latest revision.
 */
export const knowledge_sources = pgTable(
  'knowledge_sources',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** `note`, `document`, `attachment`, `issue` (what came of a closed one). */
    source_type: text().notNull(),
    source_id: uuid().notNull(),
    /** Of what lies on an issue; of an issue, itself. */
    issue_id: uuid(),
    revision: integer().notNull().default(1),
    chunked_revision: integer().notNull().default(0),
    changed_at: updatedAt(),
    chunk_count: integer().notNull().default(0),
    /** The end of the text, or all of it, is not in the chunks: a bound of the source or of the company was met. */
    cut: boolean().notNull().default(false),
  },
  (t) => [
    uniqueIndex('knowledge_sources_source').on(t.source_type, t.source_id),
    index('knowledge_sources_company').on(t.company_id),
    index('knowledge_sources_issue').on(t.issue_id),
    index('knowledge_sources_stale')
      .on(t.company_id, t.changed_at, t.id)
      .where(sql`chunked_revision <> revision`),
  ],
);

/**
 * Passages of a source, in their order. The table has one column more than this: `words`, generated from heading and text
 * for the search (index `knowledge_chunks_text`).
 */
export const knowledge_chunks = pgTable(
  'knowledge_chunks',
  {
    id: id(),
    source_key: uuid()
      .notNull()
      .references(() => knowledge_sources.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    ordinal: integer().notNull(),
    /** Title of the source, then the headings that lead to the passage. */
    heading: text().notNull(),
    text: text().notNull(),
  },
  (t) => [
    index('knowledge_chunks_source').on(t.source_key, t.ordinal),
    index('knowledge_chunks_company').on(t.company_id, t.id),
    index('knowledge_chunks_heading').using('gin', t.company_id, sql`${t.heading} gin_trgm_ops`),
  ],
);

/** The passages' embeddings. The search reads the signs of all of a company's, and the numbers of the nearest alone. */
export const knowledge_vectors = pgTable(
  'knowledge_vectors',
  {
    chunk_id: uuid()
      .primaryKey()
      .references(() => knowledge_chunks.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    /** By which endpoint and model it was computed: only what is of one space can be compared. */
    space: uuid().notNull(),
    signs: varbit().notNull(),
    /** Float32, little endian, of length 1. */
    embedding: bytea().notNull(),
  },
  (t) => [
    // The signs are read here: numbers of up to 500 dimensions stand in the rows, longer ones beside them.
    index('knowledge_vectors_signs').on(t.company_id, t.space, t.signs, t.chunk_id),
  ],
);

/** How far a company's embeddings are: a row where there are passages. */
export const knowledge_embeddings = pgTable(
  'knowledge_embeddings',
  {
    company_id: uuid()
      .primaryKey()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** There are passages, or a provider, that nobody has looked at since. Null: all is done that can be. */
    wanted_at: instant(),
    /** A scheduler is at it, or it failed: nobody begins before. */
    next_attempt_at: updatedAt(),
    /** Of the latest vectors, as of `knowledge_vectors`; null: there are none. */
    space: uuid(),
    model: text(),
    dimensions: integer(),
    failures: integer().notNull().default(0),
    /** Why the last attempt failed, in words for an admin. */
    error: text(),
  },
  (t) => [
    index('knowledge_embeddings_due')
      .on(t.next_attempt_at)
      .where(sql`wanted_at is not null`),
  ],
);
