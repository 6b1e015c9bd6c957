import { sql } from 'drizzle-orm';
import { boolean, index, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id, updatedAt } from './columns.ts';
import { companies } from './companies.ts';

/** Issue list filters that people save under a name. */
export const saved_views = pgTable(
  'saved_views',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** A user, or a board-user key. */
    owner_id: uuid().notNull(),
    name: text().notNull(),
    layout: text().notNull(),
    filter: jsonb().notNull(),
    shared: boolean().notNull(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    uniqueIndex('saved_views_name').on(t.company_id, t.owner_id, sql`lower(${t.name})`),
    index('saved_views_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
  ],
);
