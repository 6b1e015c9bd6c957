import { boolean, index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id, updatedAt } from './columns.ts';
import { issues } from './issues.ts';

export const work_products = pgTable(
  'work_products',
  {
    id: id(),
    company_id: uuid().notNull(),
    project_id: uuid(),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    type: text().notNull(),
    provider: text(),
    external_id: text(),
    title: text().notNull(),
    url: text(),
    status: text().notNull(),
    review_state: text().notNull(),
    is_primary: boolean().notNull().default(false),
    health_status: text(),
    summary: text(),
    metadata: jsonb().notNull().default({}),
    created_by_run_id: uuid(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [index('work_products_issue').on(t.issue_id, t.created_at, t.id)],
);

export const execution_decisions = pgTable(
  'execution_decisions',
  {
    id: id(),
    company_id: uuid().notNull(),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    decision_type: text().notNull(),
    reason: text(),
    metadata: jsonb().notNull().default({}),
    created_by_agent_id: uuid(),
    created_by_user_id: uuid(),
    created_at: createdAt(),
  },
  (t) => [index('execution_decisions_issue').on(t.issue_id, t.created_at.desc(), t.id.desc())],
);
