import { sql } from 'drizzle-orm';
import { index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { companies } from './companies.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';

export const approvals = pgTable(
  'approvals',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    type: text().notNull(),
    title: text().notNull(),
    description: text(),
    payload: jsonb().notNull().default({}),
    status: text().notNull().default('pending'),
    issue_id: uuid(),
    requested_by_agent_id: uuid(),
    requested_by_user_id: uuid(),
    /** A board-user key, which counts as a human (decisions 7.22). */
    requested_by_key_id: uuid(),
    decision_note: text(),
    decided_by_user_id: uuid(),
    decided_by_key_id: uuid(),
    decided_at: instant(),
    /** When the requested action was carried out; once, and only after approval. */
    applied_at: instant(),
    apply_error: text(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('approvals_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('approvals_open')
      .on(t.company_id, t.created_at.desc())
      .where(sql`${t.status} = 'pending'`),
    index('approvals_issue')
      .on(t.issue_id)
      .where(sql`${t.issue_id} is not null`),
    index('approvals_unapplied')
      .on(t.decided_at)
      .where(sql`${t.status} = 'approved' and ${t.applied_at} is null`),
  ],
);

export const approval_comments = pgTable(
  'approval_comments',
  {
    id: id(),
    company_id: uuid().notNull(),
    approval_id: uuid()
      .notNull()
      .references(() => approvals.id, { onDelete: 'cascade' }),
    author_agent_id: uuid(),
    author_user_id: uuid(),
    author_label: text(),
    body_markdown: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [index('approval_comments_approval').on(t.approval_id, t.created_at, t.id)],
);

/** Hidden from the inbox of a reader (user, or board-user key) until then, unless something happens to the approval. */
export const approval_snoozes = pgTable(
  'approval_snoozes',
  {
    reader_id: uuid().notNull(),
    approval_id: uuid()
      .notNull()
      .references(() => approvals.id, { onDelete: 'cascade' }),
    snoozed_at: createdAt(),
    snoozed_until: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.reader_id, t.approval_id] }),
    index('approval_snoozes_approval').on(t.approval_id),
  ],
);
