import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { companies } from './companies.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';

/** A company's secrets by name. `sealed` is the envelope, which names its key; the value is never returned. */
export const secrets = pgTable(
  'secrets',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    description: text(),
    version: integer().notNull().default(1),
    sealed: text().notNull(),
    last_used_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    uniqueIndex('secrets_company_name').on(t.company_id, t.name),
    index('secrets_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
  ],
);
