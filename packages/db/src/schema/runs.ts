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
    /** The row of the table of kinds that says what the run is about. */
    kind: text().notNull().default('heartbeat'),
    subject_type: text(),
    subject_id: uuid(),
    /** At most one live run has it, whatever its kind: `issue:<id>`, `chat:<id>` … */
    live_key: text(),
    /** Small facts of the kind; what is large lies in tables of its own. */
    payload: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    /** The issue that it counts towards: its project's budget pays. */
    issue_id: uuid(),
    /** Whose eyes summary, transcript and live frames are for; null: everyone who may see the company. */
    private_to_user_id: uuid(),
    status: text().notNull().default('queued'),
    wake_reason: text().notNull(),
    trigger_detail: text(),
    adapter_type: text().notNull(),
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
    /** Of what caused it (W3C Trace Context), where that was traced. */
    traceparent: text(),
    claimed_by: text(),
    /** Grows with each claim and each loss; every write of a run names the fence that it was claimed with. */
    fence: bigint({ mode: 'number' }).notNull().default(0),
    lease_expires_at: instant(),
    cancel_requested_at: instant(),
    /** Since when somebody outside of the schedulers works on it; its result may be brought at any time. */
    handed_over_at: instant(),
    /** Where its transcript lies. Migrations make the last part the default: who inserts a run need not know of it. */
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
    // The whole queue, from its front.
    index('heartbeat_runs_front')
      .on(t.created_at, t.id)
      .where(sql`${t.status} = 'queued'`),
    index('heartbeat_runs_running_agent')
      .on(t.company_id, t.agent_id)
      .where(sql`${t.status} = 'running'`),
    // An agent's part of the queue is read from its front, too.
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
 * Transcript entries, numbered from 1 within the run by its lease holder. Partitioned by the part of their run, which dates from its
 * beginning (docs/adr/0040): each partition has the primary key, the whole has none.
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

/** Spans of time one after another, each with its partition of `run_events`, which goes when all of its runs have gone. */
export const transcript_parts = pgTable('transcript_parts', {
  part: integer().primaryKey(),
  began_at: createdAt(),
});

/** One row per applied verb: the proof that it is not applied twice (decisions 8.3). */
export const run_actions = pgTable(
  'run_actions',
  {
    run_id: uuid()
      .notNull()
      .references(() => heartbeat_runs.id, { onDelete: 'cascade' }),
    ordinal: integer().notNull(),
    verb: text().notNull(),
    args: jsonb().notNull(),
    /** Read verbs change nothing: they do not stop a lost run from being retried. */
    mutating: boolean().notNull(),
    ok: boolean().notNull(),
    result: text(),
    error: text(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.run_id, t.ordinal] })],
);
