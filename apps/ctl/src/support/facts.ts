/** Contents of a support bundle, one file each: ids, counts, times and states, but no tenant content. */
import { cpus, freemem, loadavg, platform, release, totalmem } from 'node:os';
import {
  lastSuccessfulBackup,
  licenseState,
  pageOfBackups,
  listFlags,
  readFigures,
  readSettings,
  readTicks,
} from '@acp/core';
import { liveRunStatuses, migrationStatus } from '@acp/db';
import { describeConfig, serviceVersion } from '@acp/kernel';
import { readQueues } from '@acp/queue';
import { type SQL, sql } from 'drizzle-orm';
import type { CommandContext } from '../command.ts';
import { findings } from '../doctor/examine.ts';

/** May be a promise. */
type Fact = (context: CommandContext) => unknown;

const rows =
  (statement: SQL): Fact =>
  async ({ database }) =>
    (await database.db.execute(statement)).rows;

export const facts: Readonly<Record<string, Fact>> = {
  about: () => ({
    ...serviceVersion(),
    made_at: new Date().toISOString(),
    node: process.version,
    system: `${platform()} ${release()}`,
    processors: cpus().length,
    memory_bytes: { total: totalmem(), free: freemem() },
    load: loadavg(),
  }),
  configuration: ({ config }) => ({ variables: describeConfig(), unknown: config.unknown_variables }),
  doctor: async (context) => findings(context),
  schema: async ({ database }) => migrationStatus(database.db),
  settings: async ({ database }) => readSettings(database.db),
  flags: async ({ database }) => listFlags(database.db),
  license: async ({ database }) => licenseState(database.db),
  figures: async ({ database }) => readFigures(database.db),
  queues: async ({ database }) => readQueues(database.db),
  workers: async ({ database }) => readTicks(database.db),
  backups: async ({ database }) => ({
    last: (await lastSuccessfulBackup(database.db)) ?? null,
    all: (await pageOfBackups(database.db, { limit: 30 })).items,
  }),
  schedulers: rows(
    sql`select scheduler, started_at, updated_at, disk_used_pct from scheduler_processes order by 1`,
  ),
  // A company's alert may quote output of its runs.
  alerts: rows(sql`
    select id, company_id, kind, level, status, opened_at, resolved_at, case when company_id is null then message end as message
    from alerts order by opened_at desc limit 200`),
  messages: rows(sql`
    select channel, purpose, status, attempts, error, created_at, finished_at from outgoing_messages
    order by created_at desc limit 200`),
  runs: rows(sql`
    select status, kind, adapter_type, error_category, count(*)::int as runs, min(created_at) as first, max(created_at) as last
    from heartbeat_runs where created_at > now() - interval '24 hours' or status in ${liveRunStatuses}
    group by 1, 2, 3, 4 order by runs desc limit 200`),
  server: rows(sql`
    select name, setting, unit from pg_settings where name in ('server_version', 'max_connections', 'shared_buffers',
      'work_mem', 'synchronous_commit', 'fsync', 'default_transaction_isolation', 'statement_timeout', 'TimeZone') order by 1`),
  connections: rows(sql`
    select application_name, state, wait_event_type, count(*)::int as connections, max(now() - state_change)::text as longest
    from pg_stat_activity where datname = current_database() group by 1, 2, 3 order by 4 desc limit 100`),
  tables: rows(sql`
    select relname as name, n_live_tup as live, n_dead_tup as dead, pg_total_relation_size(relid) as bytes, last_autovacuum,
      last_autoanalyze from pg_stat_user_tables order by bytes desc limit 200`),
};
