import { sql } from 'drizzle-orm';
import {
  boolean,
  doublePrecision,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { companies } from './companies.ts';
import { issues } from './issues.ts';

/** Issues that others filed by the agent-to-agent protocol: what they call a task. */
export const a2a_tasks = pgTable(
  'a2a_tasks',
  {
    issue_id: uuid()
      .primaryKey()
      .references(() => issues.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    /** To whom it was sent, whoever works on it now. */
    agent_id: uuid().notNull(),
    /** The client's conversation. */
    context_id: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [index('a2a_tasks_context').on(t.agent_id, t.context_id, t.created_at.desc(), t.issue_id.desc())],
);

/** What clients sent, as they sent it: a task's history shows it under their own ids. */
export const a2a_messages = pgTable(
  'a2a_messages',
  {
    id: id(),
    company_id: uuid().notNull(),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    agent_id: uuid().notNull(),
    message_id: text().notNull(),
    /** SHA-256 of the message: one that is sent again changes nothing, another of the same id is another. */
    digest: text().notNull(),
    parts: jsonb().notNull(),
    metadata: jsonb(),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex('a2a_messages_message').on(t.agent_id, t.message_id, t.digest),
    index('a2a_messages_issue').on(t.issue_id, t.created_at.desc(), t.id.desc()),
  ],
);

/** Others whose agents a company's own may call. */
export const a2a_peers = pgTable(
  'a2a_peers',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    label: text().notNull(),
    url: text().notNull(),
    api_key_sealed: text(),
    timeout_seconds: integer().notNull().default(60),
    rate_limit_rpm: integer().notNull().default(60),
    refresh_interval_seconds: integer().notNull().default(3600),
    local_preference_bias: doublePrecision().notNull().default(0.2),
    enabled: boolean().notNull().default(true),
    /** `pending` until the first fetch, then `healthy` or `failing`: of fetches of its card alone. */
    status: text().notNull().default('pending'),
    /** The agents of its card. */
    agents: jsonb().notNull().default([]),
    last_fetched_at: instant(),
    last_fetch_error: text(),
    next_refresh_at: createdAt(),
    /** Calls of the minute that began then, by all schedulers together. */
    window_started_at: createdAt(),
    window_calls: integer().notNull().default(0),
    calls: integer().notNull().default(0),
    errors: integer().notNull().default(0),
    last_call_at: instant(),
    last_call_error: text(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    uniqueIndex('a2a_peers_label').on(t.company_id, sql`lower(${t.label})`),
    index('a2a_peers_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('a2a_peers_due')
      .on(t.next_refresh_at)
      .where(sql`enabled`),
  ],
);

/** Work given to an agent of a peer: an issue that follows the task there. */
export const a2a_delegations = pgTable(
  'a2a_delegations',
  {
    issue_id: uuid()
      .primaryKey()
      .references(() => issues.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    peer_id: uuid()
      .notNull()
      .references(() => a2a_peers.id, { onDelete: 'cascade' }),
    /** Who gave it away, and is told what the peer asks; null: no agent. */
    agent_id: uuid(),
    /** Agent-made causes in a row behind it: the peer is told, so that no circle over several instances goes on for ever. */
    depth: integer().notNull().default(0),
    remote_agent: text().notNull(),
    remote_url: text().notNull(),
    dialect: text().notNull(),
    /** Of the first message: sent again, it makes no second task. */
    message_id: uuid().notNull(),
    /** Null: not sent yet. */
    remote_task_id: text(),
    context_id: text(),
    state: text().notNull().default('submitted'),
    /** Id of the peer's last words, as they stand on the issue. */
    said: text(),
    /** Comments that its words and questions were so far. */
    words: integer().notNull().default(0),
    /** Ids of its artifacts that are work products here. */
    artifacts: jsonb().notNull().default([]),
    /** Comments up to then were sent on. */
    forwarded_at: createdAt(),
    failures: integer().notNull().default(0),
    failing_since: instant(),
    /** Why the last step came to nothing; null where it did not. */
    error: text(),
    /** As the peer says so far; null: it says nothing. */
    cost_usd: numeric({ precision: 18, scale: 8 }),
    /** Null: over. Put ahead by whoever takes it, for as long as a step may take. */
    next_attempt_at: instant(),
    /** Since when somebody takes a step; null: nobody. */
    claimed_at: instant(),
    /** With which the peer proves its notifications; null: it was not asked for any, or refused. */
    push_token_sealed: text(),
    /** When the last of them came. */
    notified_at: instant(),
    created_at: createdAt(),
    changed_at: createdAt(),
  },
  (t) => [
    index('a2a_delegations_due')
      .on(t.next_attempt_at)
      .where(sql`next_attempt_at is not null`),
    index('a2a_delegations_peer_newest').on(t.peer_id, t.created_at.desc(), t.issue_id.desc()),
  ],
);

/** Calls of agents of peers; of those that only ask how a task stands, the failed ones. Kept as long as events. */
export const a2a_calls = pgTable(
  'a2a_calls',
  {
    id: id(),
    peer_id: uuid()
      .notNull()
      .references(() => a2a_peers.id, { onDelete: 'cascade' }),
    /** The delegation that it was about. */
    issue_id: uuid().notNull(),
    remote_agent: text().notNull(),
    method: text().notNull(),
    /** Null: it was answered. */
    error: text(),
    duration_ms: integer().notNull(),
    created_at: createdAt(),
  },
  (t) => [
    index('a2a_calls_peer').on(t.peer_id, t.created_at.desc(), t.id.desc()),
    index('a2a_calls_created').on(t.created_at),
  ],
);
