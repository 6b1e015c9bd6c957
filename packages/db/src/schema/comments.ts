import { boolean, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id, instant } from './columns.ts';
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
    edited_at: instant(),
    created_at: createdAt(),
  },
  (t) => [index('comments_issue').on(t.issue_id, t.created_at, t.id)],
);

/** Earlier texts of edited comments; the last few of each. */
export const comment_versions = pgTable(
  'comment_versions',
  {
    id: id(),
    comment_id: uuid()
      .notNull()
      .references(() => comments.id, { onDelete: 'cascade' }),
    body_markdown: text().notNull(),
    replaced_by_id: uuid(),
    replaced_by_name: text().notNull(),
    replaced_at: createdAt(),
  },
  (t) => [index('comment_versions_comment').on(t.comment_id, t.replaced_at.desc(), t.id.desc())],
);

export const comment_reactions = pgTable(
  'comment_reactions',
  {
    comment_id: uuid()
      .notNull()
      .references(() => comments.id, { onDelete: 'cascade' }),
    /** A user, an agent or a key. */
    actor_id: uuid().notNull(),
    reaction: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.comment_id, t.actor_id, t.reaction] })],
);
