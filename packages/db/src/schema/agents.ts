import { sql } from 'drizzle-orm';
import {
  boolean,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core';
import { createdAt, deletedAt, id, instant, updatedAt } from './columns.ts';
import { companies } from './companies.ts';

export const agents = pgTable(
  'agents',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    role: text().notNull(),
    status: text().notNull().default('idle'),
    adapter_type: text().notNull(),
    adapter_config: jsonb().notNull().default({}),
    title: text(),
    description: text(),
    system_prompt: text(),
    heartbeat_enabled: boolean().notNull(),
    heartbeat_interval_sec: integer().notNull(),
    max_concurrent_runs: integer().notNull().default(1),
    max_issues_per_run: integer().notNull().default(1),
    reports_to: uuid(),
    home_dir: text(),
    provider_id: uuid(),
    model: text(),
    externally_available: boolean().notNull().default(false),
    blocked_notify_enabled: boolean().notNull().default(false),
    auto_extract_findings: boolean().notNull().default(false),
    /** The text of its files is searchable by the whole company. */
    files_as_knowledge: boolean().notNull().default(false),
    parent_agent_id: uuid(),
    subagent_depth: integer().notNull().default(0),
    /** Ancestors of a sub-agent, from the root down to its parent: their budgets pay for it too. */
    ancestor_ids: uuid()
      .array()
      .notNull()
      .default(sql`'{}'`),
    spawn_reason: text(),
    current_prompt_version_number: integer().notNull().default(1),
    gepa_auto_promote: boolean().notNull().default(false),
    gepa_provider_override: text(),
    pause_reason: text(),
    /** Paused along with the agent above it, and resumed with it. */
    paused_with_parent: boolean().notNull().default(false),
    /** Paused by a breached budget: resumed when it is resolved or its window rolls over. */
    budget_paused: boolean().notNull().default(false),
    /** Overrides of the permission defaults; an absent key has its default. */
    permissions: jsonb().$type<Record<string, boolean>>().notNull().default({}),
    /** When the heartbeat timer wakes the agent next; null while the heartbeat is off. */
    next_heartbeat_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
    deleted_at: deletedAt(),
  },
  (t) => [
    index('agents_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('agents_company_name').on(t.company_id, sql`lower(${t.name})`),
    index('agents_reports_to')
      .on(t.reports_to)
      .where(sql`${t.reports_to} is not null`),
    index('agents_parent')
      .on(t.parent_agent_id)
      .where(sql`${t.parent_agent_id} is not null`),
    index('agents_provider')
      .on(t.provider_id)
      .where(sql`${t.provider_id} is not null`),
    // For the homes of the others, which no home may contain or lie in.
    index('agents_homes')
      .on(t.company_id)
      .where(sql`${t.home_dir} is not null`),
    // Whether there are any is asked every ten seconds.
    index('agents_findings')
      .on(t.company_id)
      .where(sql`${t.auto_extract_findings} and ${t.deleted_at} is null`),
    index('agents_budget_paused')
      .on(t.company_id)
      .where(sql`${t.budget_paused}`),
    // Not restricted by status: each run changes it twice, and as long as no index contains it, those updates write to none (HOT).
    index('agents_beat')
      .on(t.next_heartbeat_at)
      .where(sql`${t.next_heartbeat_at} is not null and ${t.deleted_at} is null`),
  ],
);

/** The engine's state of an agent between runs; one row per agent, created with it. */
export const agent_runtime_states = pgTable('agent_runtime_states', {
  agent_id: uuid()
    .primaryKey()
    .references(() => agents.id, { onDelete: 'cascade' }),
  current_run_id: uuid(),
  last_heartbeat_at: instant(),
  last_error: text(),
  session_id: text(),
  session_cwd: text(),
  session_updated_at: instant(),
  /** Token totals of the CLI session so far, for engines that report totals of the whole session. */
  session_totals: jsonb(),
  updated_at: updatedAt(),
});

/** Agents' bearer keys. Only the SHA-256 is stored; a run's ephemeral key names its run. */
export const agent_api_keys = pgTable(
  'agent_api_keys',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    label: text(),
    key_hash: text().notNull().unique('agent_api_keys_key_hash'),
    key_prefix: text().notNull(),
    run_id: uuid(),
    /** Who answers for it: see `answerableUser`. */
    created_by_user_id: uuid(),
    last_used_at: instant(),
    /** Null: valid until revoked. */
    expires_at: instant(),
    /** When its upcoming expiry was announced. */
    expiry_warned_at: instant(),
    created_at: createdAt(),
  },
  (t) => [
    index('agent_api_keys_agent').on(t.agent_id, t.created_at.desc(), t.id.desc()),
    index('agent_api_keys_created_by')
      .on(t.created_by_user_id)
      .where(sql`${t.created_by_user_id} is not null`),
    index('agent_api_keys_expires_at')
      .on(t.expires_at)
      .where(sql`${t.expires_at} is not null`),
  ],
);

/** An agent's configuration after each change: who, when, why. Secrets stay references. */
export const agent_config_revisions = pgTable(
  'agent_config_revisions',
  {
    id: id(),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    config_json: jsonb().notNull(),
    reason: text(),
    created_by: uuid(),
    created_at: createdAt(),
  },
  (t) => [index('agent_config_revisions_agent').on(t.agent_id, t.created_at.desc(), t.id.desc())],
);

export const prompt_versions = pgTable(
  'prompt_versions',
  {
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    version_number: integer().notNull(),
    system_prompt: text().notNull(),
    /** `manual` or `gepa`. */
    source: text().notNull(),
    score: doublePrecision(),
    /** Set on an evolved revision: the version it was derived from, and for what purpose. */
    parent_version_number: integer(),
    reason: text(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.agent_id, t.version_number] })],
);
