/**
 * Every table has a policy: what a running instance adds by itself ends after some time, and the rest is named here with its
 * reason. Rows of a year ago are written into each table of the first kind, beside current ones, and the timers run once.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { putSetting } from '@acp/core';
import type { Database } from '@acp/db';
import { loadConfig, newId } from '@acp/kernel';
import { createAgent, createCompany, databaseWithQueue, testLogger } from '@acp/testkit';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TimerContext } from './context.ts';
import { TickCounters } from './tick-counters.ts';
import { timerTable } from './timers.ts';

type Values = Record<string, string>;

interface Aged {
  /** SQL values of both rows, by column: those that a policy asks for beside the age. */
  values?: Values;
  /** Of the old row only. */
  old?: Values;
  /** Of the current row only. */
  current?: Values;
}

const YEAR_AGO = `now() - interval '400 days'`;
const AHEAD = `now() + interval '1 day'`;
const lasting: Aged = { current: { expires_at: AHEAD } };

/** Tables whose rows end by age. Their parents are those of `parents`. */
const aged: Record<string, Aged> = {
  account_links: lasting,
  account_mails: {},
  a2a_calls: {},
  alerts: { values: { status: `'resolved'`, resolved_at: 'CLOCK' } },
  channel_drafts: {},
  channel_inbox: {},
  channel_outbox: {},
  channel_pairing_codes: lasting,
  channel_strangers: {},
  channel_threads: {},
  chat_pairings: { values: { revoked_at: 'CLOCK' } },
  commands: {},
  egress_refusals: {},
  events: {},
  heartbeat_runs: { values: { status: `'succeeded'`, finished_at: 'CLOCK' } },
  idempotency_keys: {},
  instance_audit: {},
  invites: { current: { expires_at: AHEAD } },
  key_addresses: {},
  login_failures: {},
  mcp_server_calls: {},
  oauth_flows: lasting,
  outgoing_messages: { values: { next_attempt_at: 'null' } },
  plugin_events: {},
  plugin_hosts: {},
  routine_runs: {},
  run_days: {},
  scheduler_processes: {},
  scheduler_ticks: {},
  security_events: {},
  sessions: { current: { expires_at: AHEAD } },
  sign_in_steps: lasting,
  wakeup_requests: { values: { status: `'consumed'` } },
  webhook_deliveries: { values: { status: `'delivered'`, finished_at: 'CLOCK' } },
  workers: { values: { status: `'pending_approval'` } },
};

/** Tables that end otherwise, by what bounds them. */
const kept: Record<string, string> = {
  'the product of work: kept until its issue, chat, agent or company is deleted': `
    a2a_messages a2a_tasks agent_file_texts agent_files approval_comments approvals assets attachment_texts attachments
    chat_messages comment_reactions comments council_participants council_sessions council_turns documents
    execution_decisions issue_labels issue_reads issue_relations issue_words issues notes pull_requests review_comments
    subagents task_sessions user_models work_products workspace_actions workspace_bundles workspace_commits
    workspace_files workspaces a2a_delegations approval_snoozes`,
  'made by people and agents, as many as bounds allow': `
    a2a_peers agent_api_keys agent_skills agents board_user_keys budget_policies channels chats companies goals join_requests
    labels mcp_server_agents mcp_servers memberships model_prices plugins projects providers repository_webhooks
    routine_triggers routines saved_views secrets skills users webhooks passkeys oauth_accounts recovery_codes`,
  'the newest so many of each are kept, whatever their age; each write removes the rest': `
    agent_config_revisions comment_versions document_revisions prompt_versions plugin_job_runs`,
  'one row for each of something else, or for the instance': `
    agent_runtime_states alert_looks company_egress company_logos compile_settings day_totals event_cursors event_sequence instance_flags
    instance_settings issue_counters plugin_binaries plugin_jobs read_marks setup_tokens user_totp`,
  'by its owner while the owner lives: a limit of bytes and keys': 'plugin_kv',
  'goes with the runs, and by partitions': 'remote_tasks run_actions run_events transcript_parts',
  'kept for ever unless a setting gives the days; then by partitions':
    'activity cost_events cost_days cost_day_sums',
  'one row for each policy and window, of a few numbers': 'budget_incidents budget_windows',
  'while a run is going': 'budget_reservations subagent_waits',
  'emptied at once by whoever works it off': 'outbox storage_orphans',
  'after trash_retention_days, with what it names': 'trash_entries',
  'after SERVICE_BACKUP_RETENTION_DAYS, with its file': 'backups',
  'derived from texts that are kept, and replaced with them': `
    knowledge_chunks knowledge_embeddings knowledge_sources knowledge_vectors compiled_batches compiled_citations
    compiled_indexes compiled_sources compiled_statements`,
  'the newest of each agent': 'evolution_candidates evolution_instances evolution_steps prompt_evolutions',
};

/** Timers that delete by age. */
const DELETING = [
  'retention',
  'security-retention',
  'event-retention',
  'run-retention',
  'report-ticks',
  'time-partitions',
];

/** By which column the rows of a test are told apart, if not by their creation. */
const clocks: Values = {
  alerts: 'opened_at',
  channel_threads: 'updated_at',
  egress_refusals: 'last_at',
  events: 'occurred_at',
  key_addresses: 'last_used_at',
  plugin_hosts: 'seen_at',
  run_days: 'day',
  scheduler_processes: 'updated_at',
  scheduler_ticks: 'updated_at',
};
/** Numbers may be keys. */
let lastNumber = 0;
const clockOf = (table: string): string => clocks[table] ?? 'created_at';

let database: Database;
let parents: Values;

const query = async <T extends object>(text: string, values: unknown[] = []): Promise<T[]> =>
  (await database.pool.query<T>(text, values)).rows;

interface Column {
  table_name: string;
  column_name: string;
  data_type: string;
  required: boolean;
}

const dummies: Record<string, string> = {
  uuid: 'gen_random_uuid()',
  text: `'x' || gen_random_uuid()`,
  boolean: 'false',
  jsonb: `'{}'`,
  bytea: `'\\x00'`,
  ARRAY: `'{}'`,
  inet: `'127.0.0.1'`,
};

/** The columns that the row needs, each with the SQL of a value. */
function valuesOf(columns: readonly Column[], given: Values, clock: string): Values {
  const row: Values = {};
  for (const { column_name: name, data_type: type, required } of columns) {
    const own = given[name]?.replace('CLOCK', clock);
    if (own !== undefined) row[name] = own;
    else if (type.startsWith('timestamp')) {
      if (required || ['created_at', 'last_seen_at', 'updated_at'].includes(name)) row[name] = clock;
    } else if (required) row[name] = parents[name] ?? dummies[type] ?? String((lastNumber += 1));
  }
  return row;
}

/** Both rows of each table. */
async function write(columns: readonly Column[]): Promise<void> {
  const statements = Object.entries(aged).flatMap(([table, { values, old, current }]) =>
    (
      [
        [YEAR_AGO, old],
        ['now()', current],
      ] as const
    ).map(([clock, more]) => {
      const own = columns.filter(({ table_name }) => table_name === table);
      const row = valuesOf(own, { [clockOf(table)]: clock, ...values, ...more }, clock);
      return `insert into ${table} (${Object.keys(row).join(', ')}) values (${Object.values(row).join(', ')})`;
    }),
  );
  // Most of their parents don't exist.
  await query(`begin; set local session_replication_role = replica; ${statements.join('; ')}; commit`);
}

const listed = (names: string): string[] => names.trim().split(/\s+/);

async function tables(): Promise<string[]> {
  const rows = await query<{ name: string }>(`select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`);
  return rows.map(({ name }) => name);
}

/** What the deleting timers use of it. */
function contextOf(): TimerContext {
  const counters = new TickCounters();
  counters.declare('a worker', 1);
  return {
    config: loadConfig({ SERVICE_HOME: path.join(tmpdir(), `acp-retention-${newId()}`) }),
    logger: testLogger(),
    database,
    counters,
    claimed_by: 'test',
    started_at: new Date(),
  } as unknown as TimerContext;
}

beforeAll(async () => {
  database = await databaseWithQueue();
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  parents = { company_id: `'${company.id}'`, agent_id: `'${agent.id}'` };
});

describe('a year of an instance', () => {
  it('adds to no table without a policy', async () => {
    const named = [...Object.keys(aged), ...Object.values(kept).flatMap(listed)];
    expect(named.toSorted()).toEqual(await tables());
  });

  it('leaves nothing older than it should be, and takes nothing that is not', async () => {
    const columns = await query<Column>(`select table_name, column_name, data_type,
        is_nullable = 'NO' and column_default is null and is_identity = 'NO' and is_generated = 'NEVER' as required
      from information_schema.columns where table_schema = 'public' order by ordinal_position`);
    await write(columns);
    await putSetting(database.db, 'activity_retention_days', 100);
    const context = contextOf();
    const signal = new AbortController().signal;
    for (const { name, work } of timerTable) if (DELETING.includes(name)) await work(context, signal);
    const left = Object.keys(aged).map(
      (table) =>
        `select '${table}' as name, array_agg(${clockOf(table)} > now() - interval '100 days') as current from ${table}`,
    );
    const found = await query<{ name: string; current: boolean[] | null }>(left.join(' union all '));
    expect(Object.fromEntries(found.map(({ name, current }) => [name, current]))).toEqual(
      // The timers add a row of their own to these.
      Object.fromEntries(
        Object.keys(aged).map((name) => [name, name.startsWith('scheduler_') ? [true, true] : [true]]),
      ),
    );
  });
});
