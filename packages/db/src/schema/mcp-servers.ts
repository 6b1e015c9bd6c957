import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { companies } from './companies.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';

/** External servers whose tools a company's agents call (decisions 10.14). */
export const mcp_servers = pgTable(
  'mcp_servers',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    /** Set if it is reached over HTTP; null: it is a program that the operator offers. */
    url: text(),
    /** Secrets are referenced by name. */
    headers: jsonb().notNull().default({}),
    /** The operator's name for the program. */
    command: text(),
    /** Environment variables of the program; secrets are referenced by name. */
    env: jsonb().notNull().default({}),
    /** Null: all of its tools are enabled. */
    allowed_tools: jsonb(),
    /** Only the agents in `mcp_server_agents` get its tools. */
    restricted: boolean().notNull().default(false),
    enabled: boolean().notNull().default(true),
    timeout_seconds: integer().notNull().default(30),
    refresh_interval_seconds: integer().notNull().default(900),
    status: text().notNull().default('unlisted'),
    /** Tools as last listed: name, description, schema. */
    listed_tools: jsonb().notNull().default([]),
    tool_count: integer().notNull().default(0),
    protocol_version: text(),
    server_info: text(),
    last_listed_at: instant(),
    last_error: text(),
    failing_since: instant(),
    /** Consecutive listings that failed. */
    failures: integer().notNull().default(0),
    /** Time of the next listing; the process that takes it postpones it first. Null: it is switched off. */
    next_refresh_at: instant(),
    call_count: integer().notNull().default(0),
    failed_call_count: integer().notNull().default(0),
    last_called_at: instant(),
    /** The one scheduler that runs the program. The fence is incremented for each owner. */
    held_by: text(),
    lease_until: instant(),
    fence: bigint({ mode: 'number' }).notNull().default(0),
    /** Its last unexpected exits, three at most. */
    crashed_at: instant()
      .array()
      .notNull()
      .default(sql`'{}'`),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    check('mcp_servers_place', sql`(${t.url} is null) <> (${t.command} is null)`),
    uniqueIndex('mcp_servers_company_name').on(t.company_id, t.name),
    index('mcp_servers_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('mcp_servers_due')
      .on(t.next_refresh_at)
      .where(sql`next_refresh_at is not null`),
  ],
);

export const mcp_server_agents = pgTable(
  'mcp_server_agents',
  {
    server_id: uuid()
      .notNull()
      .references(() => mcp_servers.id, { onDelete: 'cascade' }),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    /** Null: everything the server's own list allows. */
    tools: jsonb(),
  },
  (t) => [
    primaryKey({ columns: [t.server_id, t.agent_id] }),
    index('mcp_server_agents_agent').on(t.agent_id),
  ],
);

export const mcp_server_calls = pgTable(
  'mcp_server_calls',
  {
    id: id(),
    server_id: uuid()
      .notNull()
      .references(() => mcp_servers.id, { onDelete: 'cascade' }),
    tool: text().notNull(),
    actor_type: text().notNull(),
    actor_id: uuid(),
    actor_name: text().notNull(),
    ok: boolean().notNull(),
    error: text(),
    duration_ms: integer().notNull(),
    created_at: createdAt(),
  },
  (t) => [
    index('mcp_server_calls_server').on(t.server_id, t.created_at.desc(), t.id.desc()),
    index('mcp_server_calls_created').on(t.created_at),
  ],
);
