import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { openTaskStatuses } from '../status-lists.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { heartbeat_runs } from './runs.ts';

/** Remote workers, which belong to no company. A heartbeat only changes columns without an index, which keeps it cheap. */
export const workers = pgTable(
  'workers',
  {
    id: id(),
    name: text().notNull(),
    /** The authoritative tags, whatever the worker later reports. */
    tags: jsonb().$type<string[]>().notNull().default([]),
    status: text().notNull(),
    key_hash: text().notNull().unique('workers_key_hash'),
    key_prefix: text().notNull(),
    /** The instance admin who was shown its key; null: it registered itself. */
    created_by_user_id: uuid(),
    version: text(),
    commit: text(),
    build_date: text(),
    prompt_version: text(),
    /** `[{provider, models}]`; empty: all. */
    shared_models: jsonb().$type<{ provider: string; models: string[] }[]>().notNull().default([]),
    /** State last pushed to the admins' pages; whether a worker gets tasks depends on `last_seen_at`. */
    online: boolean().notNull().default(false),
    last_seen_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('workers_created_at').on(t.created_at.desc(), t.id.desc()),
    index('workers_created_by')
      .on(t.created_by_user_id)
      .where(sql`${t.created_by_user_id} is not null`),
  ],
);

/** Tasks for the fleet of remote workers, queued by the `remote` adapter. Secrets are never in the payload at rest. */
export const remote_tasks = pgTable(
  'remote_tasks',
  {
    id: id(),
    heartbeat_run_id: uuid()
      .notNull()
      .references(() => heartbeat_runs.id, { onDelete: 'cascade' }),
    agent_id: uuid().notNull(),
    company_id: uuid().notNull(),
    worker_id: uuid().references(() => workers.id, { onDelete: 'set null' }),
    tags_required: jsonb().$type<string[]>().notNull().default([]),
    /** Provider names under which workers may share the model; empty: any. */
    model_providers: jsonb().$type<string[]>().notNull().default([]),
    /** The model the worker must share; null: any. */
    model: text(),
    /** Digest of company, tags and model: a worker that may take one task of a route may take all of them. */
    route: text().notNull().default(''),
    payload: jsonb().notNull(),
    /** Time limit for the claim, and again for the result. */
    timeout_sec: integer().notNull().default(600),
    status: text().notNull().default('queued'),
    /** When the task must be claimed or, after that, completed. */
    deadline: instant().notNull(),
    claimed_at: instant(),
    /** Since when the worker's heartbeats have not listed it as running. */
    missing_since: instant(),
    /** Claims so far: a task that keeps losing its workers is not handed out forever. */
    attempts: integer().notNull().default(0),
    /** Bytes that workers have added to the transcript. */
    transcript_bytes: integer().notNull().default(0),
    completed_at: instant(),
    result: jsonb(),
    error: text(),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex('remote_tasks_run').on(t.heartbeat_run_id),
    index('remote_tasks_route')
      .on(t.route, t.created_at, t.id)
      .where(sql`${t.status} = 'queued'`),
    index('remote_tasks_deadline')
      .on(t.deadline)
      .where(sql`${t.status} in ${openTaskStatuses}`),
    index('remote_tasks_worker')
      .on(t.worker_id, t.status)
      .where(sql`${t.worker_id} is not null`),
    index('remote_tasks_claimed')
      .on(t.company_id)
      .where(sql`${t.status} in ('claimed', 'cancel_requested')`),
    index('remote_tasks_missing')
      .on(t.missing_since)
      .where(sql`${t.missing_since} is not null`),
    // With the status, so that those of a day are counted by the index alone.
    index('remote_tasks_completed')
      .on(t.completed_at, t.status)
      .where(sql`${t.completed_at} is not null`),
    index('remote_tasks_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
  ],
);
