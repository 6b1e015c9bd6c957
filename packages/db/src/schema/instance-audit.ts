import { index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id } from './columns.ts';

/** Instance administration actions, which belong to no company. */
export const instance_audit = pgTable(
  'instance_audit',
  {
    id: id(),
    actor_type: text().notNull(),
    actor_id: uuid(),
    actor_name: text().notNull(),
    action: text().notNull(),
    details: jsonb().notNull(),
    created_at: createdAt(),
  },
  (t) => [index('instance_audit_created_at').on(t.created_at.desc(), t.id.desc())],
);
