import { sql } from 'drizzle-orm';
import { index, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id, instant } from './columns.ts';

/** Tasks for the fleet of remote workers, queued by the `remote` adapter. Secrets are never in the payload at rest. */
export const remote_tasks = pgTable(
  'remote_tasks',
  {
    id: id(),
    heartbeat_run_id: uuid().notNull(),
    agent_id: uuid().notNull(),
    company_id: uuid().notNull(),
    worker_id: uuid(),
    tags_required: jsonb().$type<string[]>().notNull().default([]),
    payload: jsonb().notNull(),
    status: text().notNull().default('queued'),
    /** Until when the task has to be claimed, or afterwards completed. */
    deadline: instant().notNull(),
    claimed_at: instant(),
    completed_at: instant(),
    result: jsonb(),
    error: text(),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex('remote_tasks_run').on(t.heartbeat_run_id),
    index('remote_tasks_queued')
      .on(t.created_at, t.id)
      .where(sql`${t.status} = 'queued'`),
    index('remote_tasks_deadline')
      .on(t.deadline)
      .where(sql`${t.status} in ('queued', 'claimed', 'cancel_requested')`),
    index('remote_tasks_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
  ],
);
