import { sql } from 'drizzle-orm';
import { index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { createdAt, id, updatedAt } from './columns.ts';
import { companies } from './companies.ts';
import { issues } from './issues.ts';

/** An agent's work on an issue over several runs. One of an agent on an issue is active at most. */
export const task_sessions = pgTable(
  'task_sessions',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    /** Runs are forgotten after a while; sessions stay. */
    run_id: uuid(),
    status: text().notNull().default('active'),
    summary: text(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('task_sessions_agent').on(t.agent_id, t.created_at.desc(), t.id.desc()),
    index('task_sessions_issue').on(t.issue_id),
    uniqueIndex('task_sessions_active')
      .on(t.agent_id, t.issue_id)
      .where(sql`${t.status} = 'active'`),
  ],
);
