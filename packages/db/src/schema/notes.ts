import { sql } from 'drizzle-orm';
import { index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { companies } from './companies.ts';
import { createdAt, deletedAt, id, instant, updatedAt } from './columns.ts';
import { issues } from './issues.ts';

/**
 * The table has one more column than listed here: `words`, which PostgreSQL generates from title and text for full-text
 * search (index `notes_text`). It is as large as the text and no query needs to read it, so it is left out of `select *`.
 */
export const notes = pgTable(
  'notes',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    title: text().notNull(),
    body_markdown: text().notNull(),
    kind: text().notNull().default('note'),
    tags: jsonb().$type<string[]>().notNull().default([]),
    issue_id: uuid().references(() => issues.id, { onDelete: 'set null' }),
    created_by_agent_id: uuid(),
    created_by_user_id: uuid(),
    archived_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
    deleted_at: deletedAt(),
  },
  (t) => [
    index('notes_company')
      .on(t.company_id, t.created_at.desc(), t.id.desc())
      .where(sql`${t.deleted_at} is null`),
    // The trash counts against the bound.
    index('notes_trashed')
      .on(t.company_id)
      .where(sql`${t.deleted_at} is not null`),
    // Agents refer to a note by its title.
    index('notes_named')
      .on(t.company_id, sql`lower(${t.title})`)
      .where(sql`${t.deleted_at} is null`),
    index('notes_issue').on(t.issue_id),
    index('notes_title').using('gin', t.company_id, sql`${t.title} gin_trgm_ops`),
  ],
);
