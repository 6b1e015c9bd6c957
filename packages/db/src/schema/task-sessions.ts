import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { createdAt, id, updatedAt } from './columns.ts';

export const task_sessions = pgTable(
  'task_sessions',
  {
    id: id(),
    company_id: uuid().notNull(),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    issue_id: uuid().notNull(),
    run_id: uuid(),
    status: text().notNull().default('active'),
    summary: text(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('task_sessions_agent').on(t.agent_id, t.created_at.desc(), t.id.desc()),
    index('task_sessions_issue').on(t.issue_id),
  ],
);
