import { index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id } from './columns.ts';

/** The audit trail: one entry per mutation, written in the same transaction. */
export const activity = pgTable(
  'activity',
  {
    id: id(),
    company_id: uuid().notNull(),
    actor_type: text().notNull(),
    actor_id: uuid(),
    actor_name: text().notNull(),
    action: text().notNull(),
    entity_type: text().notNull(),
    entity_id: uuid().notNull(),
    details: jsonb().notNull(),
    created_at: createdAt(),
  },
  (t) => [
    index('activity_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('activity_company_type').on(t.company_id, t.entity_type, t.created_at.desc(), t.id.desc()),
    index('activity_entity').on(t.entity_id, t.created_at.desc(), t.id.desc()),
  ],
);
