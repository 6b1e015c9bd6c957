import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { companies } from './companies.ts';
import { goals } from './goals.ts';
import { projects } from './projects.ts';
import { createdAt, deletedAt, id, instant, updatedAt } from './columns.ts';

export const routines = pgTable(
  'routines',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    description: text(),
    assignee_agent_id: uuid().references(() => agents.id, { onDelete: 'set null' }),
    project_id: uuid().references(() => projects.id, { onDelete: 'set null' }),
    goal_id: uuid().references(() => goals.id, { onDelete: 'set null' }),
    title_template: text().notNull(),
    body_template: text(),
    priority: text().notNull().default('medium'),
    status: text().notNull().default('active'),
    concurrency_policy: text().notNull().default('coalesce_if_active'),
    last_fired_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
    deleted_at: deletedAt(),
  },
  (t) => [
    index('routines_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    // Supports deletion of the referenced rows.
    index('routines_assignee').on(t.assignee_agent_id),
    index('routines_project').on(t.project_id),
    index('routines_goal').on(t.goal_id),
  ],
);

export const routine_triggers = pgTable(
  'routine_triggers',
  {
    id: id(),
    company_id: uuid().notNull(),
    routine_id: uuid()
      .notNull()
      .references(() => routines.id, { onDelete: 'cascade' }),
    kind: text().notNull(),
    enabled: boolean().notNull().default(true),
    public_id: uuid().notNull().defaultRandom().unique('routine_triggers_public_id'),
    signing_mode: text().notNull().default('none'),
    replay_window_sec: integer().notNull().default(300),
    secret_sealed: text(),
    /** Who was shown the secret of a webhook last, or created it unsigned. */
    created_by_user_id: uuid(),
    label: text(),
    cron_expression: text(),
    timezone: text(),
    /** Advanced in the transaction that fires; null for webhooks and while disabled. */
    next_fire_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('routine_triggers_routine').on(t.routine_id),
    index('routine_triggers_created_by')
      .on(t.created_by_user_id)
      .where(sql`${t.created_by_user_id} is not null`),
    index('routine_triggers_company_due')
      .on(t.company_id, t.next_fire_at)
      .where(sql`${t.enabled} and ${t.next_fire_at} is not null`),
    index('routine_triggers_due')
      .on(t.next_fire_at)
      .where(sql`${t.enabled} and ${t.next_fire_at} is not null`),
  ],
);

export const routine_runs = pgTable(
  'routine_runs',
  {
    id: id(),
    company_id: uuid().notNull(),
    routine_id: uuid()
      .notNull()
      .references(() => routines.id, { onDelete: 'cascade' }),
    trigger_id: uuid(),
    source: text().notNull(),
    status: text().notNull(),
    issue_id: uuid(),
    payload: jsonb(),
    payload_sha256: text(),
    error: text(),
    /** A scheduled firing is unique by the instant it was due. */
    due_at: instant(),
    created_at: createdAt(),
  },
  (t) => [
    index('routine_runs_routine').on(t.routine_id, t.created_at.desc(), t.id.desc()),
    index('routine_runs_replay').on(t.trigger_id, t.payload_sha256, t.created_at),
    // Finds the routine that created an open issue.
    index('routine_runs_issue')
      .on(t.issue_id)
      .where(sql`${t.status} = 'enqueued'`),
    index('routine_runs_created_at').on(t.created_at),
    uniqueIndex('routine_runs_due')
      .on(t.trigger_id, t.due_at)
      .where(sql`${t.due_at} is not null`),
  ],
);
