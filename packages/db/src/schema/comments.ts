import { boolean, index, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id } from './columns.ts';
import { issues } from './issues.ts';

export const comments = pgTable(
  'comments',
  {
    id: id(),
    company_id: uuid().notNull(),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    author_agent_id: uuid(),
    author_user_id: uuid(),
    /** Display name of an author that is neither user nor agent: the label of a board-user key. */
    author_label: text(),
    body_markdown: text().notNull(),
    is_pinned: boolean().notNull().default(false),
    run_id: uuid(),
    created_at: createdAt(),
  },
  (t) => [index('comments_issue').on(t.issue_id, t.created_at, t.id)],
);
