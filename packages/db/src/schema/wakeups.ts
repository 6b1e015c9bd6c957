import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { createdAt, id, instant } from './columns.ts';

/** Requests to wake an agent, for one issue or none. Pending ones for the same agent and issue coalesce. */
export const wakeup_requests = pgTable(
  'wakeup_requests',
  {
    id: id(),
    company_id: uuid().notNull(),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    issue_id: uuid(),
    reason: text().notNull(),
    payload: jsonb().notNull().default({}),
    status: text().notNull().default('pending'),
    /** The run whose output caused this wakeup, and the length of the chain of such causes (at most 12). */
    cause_run_id: uuid(),
    depth: integer().notNull().default(0),
    /** The run the wakeup was bound to when it was consumed. */
    run_id: uuid(),
    created_at: createdAt(),
    consumed_at: instant(),
  },
  (t) => [
    uniqueIndex('wakeup_requests_pending')
      .on(t.agent_id, sql`coalesce(${t.issue_id}, '00000000-0000-0000-0000-000000000000'::uuid)`)
      .where(sql`${t.status} = 'pending'`),
    index('wakeup_requests_pending_age')
      .on(t.created_at)
      .where(sql`${t.status} = 'pending'`),
    index('wakeup_requests_pending_issue')
      .on(t.issue_id)
      .where(sql`${t.status} = 'pending' and ${t.issue_id} is not null`),
    index('wakeup_requests_agent').on(t.agent_id, t.created_at.desc(), t.id.desc()),
    index('wakeup_requests_run')
      .on(t.run_id)
      .where(sql`${t.run_id} is not null`),
  ],
);
