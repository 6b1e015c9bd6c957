import { index, integer, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { instant, updatedAt } from './columns.ts';
import { companies } from './companies.ts';

/** A company's egress list. Without a row or hosts, the instance's applies. */
export const company_egress = pgTable('company_egress', {
  company_id: uuid()
    .primaryKey()
    .references(() => companies.id, { onDelete: 'cascade' }),
  /** Hosts as entered; null: there is no list. Empty: nothing but the service itself. */
  hosts: jsonb().$type<string[]>(),
  /** Incremented by each change; earlier lists are in the activity. */
  version: integer().notNull(),
  updated_by_user_id: uuid(),
  updated_at: updatedAt(),
});

/** Refused connection attempts of a company, counted; a sweep removes old ones. */
export const egress_refusals = pgTable(
  'egress_refusals',
  {
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** The run, or the company itself if there was none. */
    subject_id: uuid().notNull(),
    host: text().notNull(),
    port: integer().notNull(),
    /** Where the attempt was made: a program, a model call, a plugin … */
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
