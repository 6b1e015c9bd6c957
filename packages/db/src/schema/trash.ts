import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id } from './columns.ts';

/** Entries that DELETE moved to the trash (decisions 7.6): the row itself has `deleted_at`, this records who and what. */
export const trash_entries = pgTable(
  'trash_entries',
  {
    trash_id: id(),
    type: text().notNull(),
    entity_id: uuid().notNull(),
    company_id: uuid().notNull(),
    name: text().notNull(),
    deleted_by_user_id: uuid(),
    deleted_at: createdAt(),
  },
  (t) => [
    index('trash_entries_deleted_at').on(t.deleted_at.desc(), t.trash_id.desc()),
    index('trash_entries_company').on(t.company_id, t.type, t.deleted_at.desc(), t.trash_id.desc()),
    index('trash_entries_entity').on(t.entity_id),
  ],
);
