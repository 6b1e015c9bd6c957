import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { createdAt, id, instant } from './columns.ts';
import { liveRunStatuses } from '../status-lists.ts';

/** The run row is the queue; its lease is liveness; its fence is the right to write (decisions 8.1). */
export const heartbeat_runs = pgTable(
  'heartbeat_runs',
  {
    id: id(),
    company_id: uuid().notNull(),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    /** Row of the table of kinds that defines what the run is about. */
    kind: text().notNull().default('heartbeat'),
    subject_type: text(),
    subject_id: uuid(),
    /** Unique among live runs, whatever their kind: `issue:<id>`, `chat:<id>` … */
    live_key: text(),
    /** Small facts of the kind; large data is in tables of its own. */
    payload: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    /** The issue it counts towards: its project's budget pays. */
    issue_id: uuid(),
    /** The only user who may see summary, transcript and live frames; null: everyone who may see the company. */
    private_to_user_id: uuid(),
    status: text().notNull().default('queued'),
    wake_reason: text().notNull(),
    trigger_detail: text(),
    adapter_type: text().notNull(),
    /** The company's provider that was called, once the run has ended; null: the instance's own, or none. It may be gone. */
    provider_id: uuid(),
    model: text(),
    input_tokens: integer().notNull().default(0),
    output_tokens: integer().notNull().default(0),
    cached_tokens: integer().notNull().default(0),
    cost_usd: numeric({ precision: 18, scale: 8 }).notNull().default('0'),
    usage_missing: boolean().notNull().default(false),
    summary: text(),
    error: text(),
    error_category: text(),
    retry_of_run_id: uuid(),
    /** Longest chain of agent-made causes behind the wakeups of this run. */
    depth: integer().notNull().default(0),
    /** Trace context of its cause (W3C Trace Context), if that was traced. */
    traceparent: text(),
    claimed_by: text(),
    /** Incremented by each claim and each loss; every write of a run names the fence it was claimed with. */
    fence: bigint({ mode: 'number' }).notNull().default(0),
    lease_expires_at: instant(),
    cancel_requested_at: instant(),
    /** Since when someone outside the schedulers has been working on it; the result may be delivered at any time. */
    handed_over_at: instant(),
    /** Partition of its transcript. Migrations make the newest part the default: code that inserts runs need not set it. */
    transcript_part: integer().notNull().default(0),
    created_at: createdAt(),
    started_at: instant(),
    finished_at: instant(),
  },
  (t) => [
    uniqueIndex('heartbeat_runs_live_key')
      .on(t.live_key)
      .where(sql`${t.live_key} is not null and ${t.status} in ${liveRunStatuses}`),
    index('heartbeat_runs_live_issue')
      .on(t.issue_id)
      .where(sql`${t.issue_id} is not null and ${t.status} in ${liveRunStatuses}`),
    index('heartbeat_runs_queued')
      .on(t.company_id, t.created_at, t.id)
      .where(sql`${t.status} = 'queued'`),
    // The whole queue, read from its front.
    index('heartbeat_runs_front')
      .on(t.created_at, t.id)
      .where(sql`${t.status} = 'queued'`),
    index('heartbeat_runs_running_agent')
      .on(t.company_id, t.agent_id)
      .where(sql`${t.status} = 'running'`),
    // An agent's part of the queue is also read from its front.
    index('heartbeat_runs_live_of_agent')
      .on(t.agent_id, t.created_at, t.id)
      .where(sql`${t.status} in ${liveRunStatuses}`),
    index('heartbeat_runs_lease')
      .on(t.lease_expires_at)
      .where(sql`${t.status} = 'running'`),
    index('heartbeat_runs_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('heartbeat_runs_agent').on(t.agent_id, t.created_at.desc(), t.id.desc()),
    index('heartbeat_runs_issue').on(t.issue_id, t.created_at.desc(), t.id.desc()),
    index('heartbeat_runs_subject')
      .on(t.subject_id, t.created_at.desc())
      .where(sql`${t.kind} <> 'heartbeat'`),
    index('heartbeat_runs_finished')
      .on(t.finished_at)
      .where(sql`${t.finished_at} is not null`),
    uniqueIndex('heartbeat_runs_one_retry')
      .on(t.retry_of_run_id)
      .where(sql`${t.retry_of_run_id} is not null`),
  ],
);

/**
 * Transcript entries, numbered from 1 within the run by its lease owner. Partitioned by the part of their run, which is set
 * when the run begins (docs/adr/0040): each partition has the primary key, the parent table has none.
 */
export const run_events = pgTable(
  'run_events',
  {
    run_id: uuid()
      .notNull()
      .references(() => heartbeat_runs.id, { onDelete: 'cascade' }),
    seq: integer().notNull(),
    kind: text().notNull(),
    payload: jsonb().notNull(),
    created_at: createdAt(),
    /** `transcript_part` of the run. */
    part: integer().notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.run_id, t.seq] })],
);

/** Consecutive time spans, each with its own partition of `run_events`, which is dropped once all of its runs are gone. */
export const transcript_parts = pgTable('transcript_parts', {
  part: integer().primaryKey(),
  began_at: createdAt(),
});

/** One row per applied verb: proof against applying it twice (decisions 8.3). */
export const run_actions = pgTable(
  'run_actions',
  {
    run_id: uuid()
      .notNull()
      .references(() => heartbeat_runs.id, { onDelete: 'cascade' }),
    ordinal: integer().notNull(),
    verb: text().notNull(),
    args: jsonb().notNull(),
    /** Read verbs change nothing, so they do not prevent a lost run from being retried. */
    mutating: boolean().notNull(),
    ok: boolean().notNull(),
    result: text(),
    error: text(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.run_id, t.ordinal] })],
);
