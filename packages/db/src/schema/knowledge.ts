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

/** What a company's agents have learnt about a user who gives them work: openly, and in chats that are private to the user. */
export const user_models = pgTable(
  'user_models',
  {
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Is in prompts whose transcripts the company may read; empty if all was learnt in private. */
    body_markdown: text().notNull(),
    private_markdown: text(),
    updated_by_agent_id: uuid(),
    updated_at: updatedAt(),
  },
  (t) => [primaryKey({ columns: [t.company_id, t.user_id] }), index('user_models_user').on(t.user_id)],
);

/**
 * Sources of the knowledge search. Triggers on the source tables write the rows, in the transaction that changes the
 * source, by whichever path: deleting a source deletes its row and chunks, changing one increments `revision`. Chunks are
 * served only while they are of the latest revision.
 */
export const knowledge_sources = pgTable(
  'knowledge_sources',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** `note`, `document`, `attachment`, `issue` (the outcome of a closed one). */
    source_type: text().notNull(),
    source_id: uuid().notNull(),
    /** The issue it belongs to; for an issue, itself. */
    issue_id: uuid(),
    revision: integer().notNull().default(1),
    chunked_revision: integer().notNull().default(0),
    changed_at: updatedAt(),
    chunk_count: integer().notNull().default(0),
    /** Some or all of the text is missing from the chunks because a limit of the source or of the company was reached. */
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
 * Passages of a source, in order. The table has one more column than listed here: `words`, generated from heading and text
 * for full-text search (index `knowledge_chunks_text`).
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
    /** Title of the source, then the headings above the passage. */
    heading: text().notNull(),
    text: text().notNull(),
  },
  (t) => [
    index('knowledge_chunks_source').on(t.source_key, t.ordinal),
    index('knowledge_chunks_company').on(t.company_id, t.id),
    index('knowledge_chunks_heading').using('gin', t.company_id, sql`${t.heading} gin_trgm_ops`),
  ],
);

/** The passages' embeddings. The search reads the signs of all of a company's, and the numbers of only the nearest. */
export const knowledge_vectors = pgTable(
  'knowledge_vectors',
  {
    chunk_id: uuid()
      .primaryKey()
      .references(() => knowledge_chunks.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    /** Identifies the endpoint and model that computed it: only vectors of the same space are comparable. */
    space: uuid().notNull(),
    signs: varbit().notNull(),
    /** Float32, little endian, normalized to length 1. */
    embedding: bytea().notNull(),
  },
  (t) => [
    // The search reads signs from this index: vectors of up to 500 dimensions are stored inline, longer ones out of line.
    index('knowledge_vectors_signs').on(t.company_id, t.space, t.signs, t.chunk_id),
  ],
);

/** Embedding progress of a company: there is a row if there are passages. */
export const knowledge_embeddings = pgTable(
  'knowledge_embeddings',
  {
    company_id: uuid()
      .primaryKey()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** Set when passages or a provider have changed and are not processed yet. Null: everything possible is done. */
    wanted_at: instant(),
    /** Set by a scheduler at work, or after a failure: no one starts before then. */
    next_attempt_at: updatedAt(),
    /** Space of the latest vectors, as in `knowledge_vectors`; null: there are none. */
    space: uuid(),
    model: text(),
    dimensions: integer(),
    failures: integer().notNull().default(0),
    /** Why the last attempt failed, phrased for an admin. */
    error: text(),
  },
  (t) => [
    index('knowledge_embeddings_due')
      .on(t.next_attempt_at)
      .where(sql`wanted_at is not null`),
  ],
);
