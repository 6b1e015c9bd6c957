import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id, updatedAt } from './columns.ts';
import { issues } from './issues.ts';

/** Keyed documents of an issue; the text is in the revisions. */
export const documents = pgTable(
  'documents',
  {
    id: id(),
    document_id: uuid().notNull().defaultRandom(),
    company_id: uuid().notNull(),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    title: text().notNull(),
    latest_revision_id: uuid(),
    latest_revision_number: integer().notNull().default(0),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [uniqueIndex('documents_issue_key').on(t.issue_id, t.key)],
);

/** Append-only: restoring adds a new revision with an old text. */
export const document_revisions = pgTable(
  'document_revisions',
  {
    id: id(),
    document_id: uuid()
      .notNull()
      .references(() => documents.id, { onDelete: 'cascade' }),
    revision_number: integer().notNull(),
    title: text().notNull(),
    body: text().notNull(),
    restored_from_revision_id: uuid(),
    created_by_agent_id: uuid(),
    created_by_user_id: uuid(),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex('document_revisions_number').on(t.document_id, t.revision_number),
    index('document_revisions_document').on(t.document_id, t.created_at.desc()),
  ],
);
