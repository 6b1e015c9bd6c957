import { index, integer, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { instant, updatedAt } from './columns.ts';
import { companies } from './companies.ts';

/** What a company lets out. No row, or no hosts: whatever the instance does. */
export const company_egress = pgTable('company_egress', {
  company_id: uuid()
    .primaryKey()
    .references(() => companies.id, { onDelete: 'cascade' }),
  /** As they are written; null: there is no list. Empty: nothing but the service itself. */
  hosts: jsonb().$type<string[]>(),
  /** Grows with each change; what it was stands in the activity. */
  version: integer().notNull(),
  updated_by_user_id: uuid(),
  updated_at: updatedAt(),
});

/** Where something of a company wanted to go in vain, counted; a sweep removes what is old. */
export const egress_refusals = pgTable(
  'egress_refusals',
  {
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** The run, or the company itself where it was none. */
    subject_id: uuid().notNull(),
    host: text().notNull(),
    port: integer().notNull(),
    /** What asked: a program, a model call, a plugin … */
    door: text().notNull(),
    times: integer().notNull(),
    last_at: instant().notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.subject_id, t.host, t.port] }),
    index('egress_refusals_company').on(t.company_id, t.last_at.desc()),
    index('egress_refusals_last_at').on(t.last_at),
  ],
);
