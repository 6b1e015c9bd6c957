import { sql } from 'drizzle-orm';
import type { Said } from '@acp/kernel';
import { index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { companies } from './companies.ts';
import { createdAt, id, instant } from './columns.ts';

/** Problems that an operator or a company's admin must deal with, kept after they have passed. */
export const alerts = pgTable(
  'alerts',
  {
    id: id(),
    /** Null: an alert of the instance. */
    company_id: uuid().references(() => companies.id, { onDelete: 'cascade' }),
    kind: text().notNull(),
    /** Subject within its kind: at most one alert per kind and key is open. */
    key: text().notNull(),
    level: text().notNull(),
    message: text().notNull(),
    /** The message in translatable form; null: written before there was one. */
    said: jsonb().$type<Said>(),
    entity_type: text(),
    entity_id: uuid(),
    status: text().notNull().default('firing'),
    opened_at: createdAt(),
    /** When a check last found it; an alert not found for a while is resolved. */
    last_seen_at: createdAt(),
    resolved_at: instant(),
    /** When it was last notified; null: never, because it is muted or flapping. */
    told_at: instant(),
    acknowledged_at: instant(),
    acknowledged_by_user_id: uuid(),
    muted_until: instant(),
  },
  (t) => [
    uniqueIndex('alerts_firing')
      .on(t.kind, t.key)
      .where(sql`status = 'firing'`),
    index('alerts_of_key').on(t.kind, t.key, t.opened_at.desc()),
    index('alerts_opened_at').on(t.opened_at.desc(), t.id.desc()),
    index('alerts_company').on(t.company_id, t.opened_at.desc(), t.id.desc()),
    index('alerts_resolved')
      .on(t.resolved_at)
      .where(sql`status = 'resolved'`),
  ],
);

/** A single row: who checked last, and when. The process that advances it does the check; the others skip it. */
export const alert_looks = pgTable('alert_looks', {
  id: integer().primaryKey(),
  looked_at: createdAt(),
  looked_by: text().notNull(),
});
