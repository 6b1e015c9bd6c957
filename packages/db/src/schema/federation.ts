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

/** Issues filed by other instances over the agent-to-agent protocol, which calls them tasks. */
export const a2a_tasks = pgTable(
  'a2a_tasks',
  {
    issue_id: uuid()
      .primaryKey()
      .references(() => issues.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    /** The agent it was sent to, whoever works on it now. */
    agent_id: uuid().notNull(),
    /** The client's conversation id. */
    context_id: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [index('a2a_tasks_context').on(t.agent_id, t.context_id, t.created_at.desc(), t.issue_id.desc())],
);

/** Messages as clients sent them: a task's history shows them under the clients' own ids. */
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
    /** SHA-256 of the message: a resend changes nothing; a different one with the same id is another message. */
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

/** Remote instances whose agents a company's own agents may call. */
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
    /** `pending` until the first fetch, then `healthy` or `failing`: reflects only fetches of its card. */
    status: text().notNull().default('pending'),
    /** The agents listed on its card. */
    agents: jsonb().notNull().default([]),
    last_fetched_at: instant(),
    last_fetch_error: text(),
    next_refresh_at: createdAt(),
    /** Start of the current minute, in which calls are counted across all schedulers. */
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

/** Work delegated to a peer's agent: an issue that follows the task there. */
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
    /** The agent that delegated it and receives the peer's questions; null: not an agent. */
    agent_id: uuid(),
    /** Length of the chain of agent-made causes behind it, passed to the peer so that loops across instances end. */
    depth: integer().notNull().default(0),
    remote_agent: text().notNull(),
    remote_url: text().notNull(),
    dialect: text().notNull(),
    /** Id of the first message: resending it creates no second task. */
    message_id: uuid().notNull(),
    /** Null: not sent yet. */
    remote_task_id: text(),
    context_id: text(),
    state: text().notNull().default('submitted'),
    /** Id of the peer's latest message, as posted on the issue. */
    said: text(),
    /** Number of comments that its messages and questions have produced so far. */
    words: integer().notNull().default(0),
    /** Ids of its artifacts that have become work products here. */
    artifacts: jsonb().notNull().default([]),
    /** Comments up to this instant have been forwarded, and none can be written there any more. */
    forwarded_at: createdAt(),
    /** Ids of later comments that have been forwarded. */
    forwarded: uuid().array().notNull().default([]),
    /** Ids of the comments in a message that is being sent: until it has been answered, it is sent again as it was. */
    forwarding: uuid().array().notNull().default([]),
    failures: integer().notNull().default(0),
    failing_since: instant(),
    /** Why the last step failed; null if it did not. */
    error: text(),
    /** Cost so far as reported by the peer; null: not reported. */
    cost_usd: numeric({ precision: 18, scale: 8 }),
    /** Null: finished. The scheduler that claims a step moves it ahead by the maximum duration of a step. */
    next_attempt_at: instant(),
    /** When the step in progress was claimed; null: unclaimed. */
    claimed_at: instant(),
    /** Token that authenticates the peer's notifications; null: none were requested, or the request was refused. */
    push_token_sealed: text(),
    /** When the last notification arrived. */
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

/** Calls to peers' agents; of those that only poll a task's state, just the failed ones. Kept as long as events. */
export const a2a_calls = pgTable(
  'a2a_calls',
  {
    id: id(),
    peer_id: uuid()
      .notNull()
      .references(() => a2a_peers.id, { onDelete: 'cascade' }),
    /** The delegation the call belongs to. */
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
