import { sql } from 'drizzle-orm';
import { index, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { companies } from './companies.ts';
import { issues } from './issues.ts';

/** An agent's work on an issue over several runs. At most one per agent and issue is active. */
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
    /** Runs are deleted after a while; sessions stay. */
    run_id: uuid(),
    status: text().notNull().default('active'),
    summary: text(),
    /** The CLI session that the agent's next run on the issue resumes, and the folder it worked in. */
    session_id: text(),
    session_cwd: text(),
    /** Totals counted by the CLI for the session, in the adapter's own format. */
    session_totals: jsonb(),
    session_begun_at: instant(),
    session_updated_at: instant(),
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
