import { sql } from 'drizzle-orm';
import type { Said } from '@acp/kernel';
import { index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { companies } from './companies.ts';
import { createdAt, id, instant } from './columns.ts';

/** What an operator or a company's admin has to see to, and what it was until it passed. */
export const alerts = pgTable(
  'alerts',
  {
    id: id(),
    /** Null: the instance's. */
    company_id: uuid().references(() => companies.id, { onDelete: 'cascade' }),
    kind: text().notNull(),
    /** What it is about within its kind: one alert of both stands at a time. */
    key: text().notNull(),
    level: text().notNull(),
    message: text().notNull(),
    /** The message as a sentence that can be said in other languages; null: it is from before there was one. */
    said: jsonb().$type<Said>(),
    entity_type: text(),
    entity_id: uuid(),
    status: text().notNull().default('firing'),
    opened_at: createdAt(),
    /** When a look found it last: one that was not found for a while has passed. */
    last_seen_at: createdAt(),
    resolved_at: instant(),
    /** When it was told last; null: it was not, for it is muted or comes and goes. */
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

/** One row: who has looked last, and when. Whoever moves it on looks; the others see that somebody has. */
export const alert_looks = pgTable('alert_looks', {
  id: integer().primaryKey(),
  looked_at: createdAt(),
  looked_by: text().notNull(),
});
