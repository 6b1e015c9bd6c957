import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { cloneDatabase, type TestDatabase } from '@acp/testkit';
import type { PoolClient } from 'pg';
import { drizzle } from 'drizzle-orm/node-postgres';
import { type DueWork, dueWork } from './due-work.ts';

type Values = Record<string, unknown>;

let kit: TestDatabase;
let client: PoolClient;

beforeAll(async () => {
  kit = await cloneDatabase('due_work');
});

afterEach(async () => {
  await client.query('rollback');
  client.release();
});

/** Inserts a row with these values and something in every other required column. Its references point nowhere. */
async function insert(table: string, values: Values): Promise<void> {
  const { rows } = await client.query<{ column_name: string; data_type: string }>(
    `select column_name, data_type from information_schema.columns
     where table_name = $1 and table_schema = 'public' and is_nullable = 'NO' and column_default is null
       and is_generated = 'NEVER' and is_identity = 'NO'`,
    [table],
  );
  const filled: Values = Object.fromEntries(
    rows.map(({ column_name, data_type }) => [column_name, any[data_type]]),
  );
  const row = { ...filled, ...values };
  const names = Object.keys(row);
  const places = names.map((_, index) => `$${index + 1}`);
  await client.query(`insert into ${table} (${names.join()}) values (${places.join()})`, Object.values(row));
}

const any: Values = {
  uuid: '00000000-0000-4000-8000-000000000000',
  text: 'x',
  integer: 1,
  bigint: 1,
  numeric: 1,
  boolean: false,
  jsonb: '{}',
  'timestamp with time zone': new Date(0),
};

/** What makes each kind of work due at a given time; `early_sec` is how much earlier its row's timestamp is. */
const kinds: { kind: keyof DueWork; table: string; column: string; values?: Values; early_sec?: number }[] = [
  { kind: 'heartbeats', table: 'agents', column: 'next_heartbeat_at', values: { status: 'idle' } },
  { kind: 'lost_runs', table: 'heartbeat_runs', column: 'lease_expires_at', values: { status: 'running' } },
  { kind: 'remote_tasks', table: 'remote_tasks', column: 'deadline', values: { status: 'queued' } },
  {
    kind: 'missing_tasks',
    table: 'remote_tasks',
    column: 'missing_since',
    values: { status: 'claimed', deadline: new Date(Date.now() + 3_600_000) },
    early_sec: 60,
  },
  { kind: 'schedules', table: 'routine_triggers', column: 'next_fire_at', values: { enabled: true } },
  { kind: 'webhooks', table: 'webhooks', column: 'next_attempt_at', values: { enabled: true } },
  { kind: 'mcp_servers', table: 'mcp_servers', column: 'next_refresh_at' },
  { kind: 'peers', table: 'a2a_peers', column: 'next_refresh_at', values: { enabled: true } },
  { kind: 'peers', table: 'a2a_delegations', column: 'next_attempt_at' },
  {
    kind: 'knowledge',
    table: 'knowledge_embeddings',
    column: 'next_attempt_at',
    values: { wanted_at: new Date() },
  },
  { kind: 'messages', table: 'outgoing_messages', column: 'next_attempt_at' },
  { kind: 'channels', table: 'channels', column: 'lease_until', values: { enabled: true } },
];

describe('what is due', () => {
  async function look(): Promise<DueWork> {
    return dueWork(drizzle({ client }));
  }

  async function begin(): Promise<void> {
    client = await kit.database.pool.connect();
    await client.query('begin');
    // Only the rows' timestamps matter: neither their references nor their other values are checked.
    await client.query('set local session_replication_role = replica');
    await client.query(`do $$ declare each record; begin
      for each in select conrelid::regclass as place, conname from pg_constraint
        where contype = 'c' and connamespace = 'public'::regnamespace
      loop execute format('alter table %s drop constraint %I', each.place, each.conname); end loop; end $$`);
  }

  it('of an empty instance is nothing, now or later', async () => {
    await begin();
    const { next_in_ms, ...due } = await look();
    expect(Object.values(due)).not.toContain(true);
    expect(next_in_ms).toBeNull();
  });

  it.each(kinds)('$kind by $table: not yet, but the moment is known; then now', async (row) => {
    await begin();
    const { kind, table, column, values = {}, early_sec = 0 } = row;
    await insert(table, { ...values, [column]: new Date() });
    // Within one transaction `now()` does not advance.
    const set = `update ${table} set ${column} = now() + make_interval(secs => $1)`;
    await client.query(set, [20 - early_sec]);
    const ahead = await look();
    expect(ahead[kind]).toBe(false);
    // Times are stored with millisecond precision.
    expect(ahead.next_in_ms).toBeCloseTo(20_000, -1);
    await client.query(set, [-20 - early_sec]);
    const now = await look();
    expect(now[kind]).toBe(true);
    expect(now.next_in_ms ?? Infinity).toBeGreaterThan(20_000);
  });

  it('is found without reading the sources of knowledge that have not changed, however many', async () => {
    await begin();
    await client.query(`insert into knowledge_sources (company_id, source_type, source_id, chunked_revision)
      select gen_random_uuid(), 'note', gen_random_uuid(), 1 from generate_series(1, 20000)`);
    await client.query('analyze knowledge_sources');
    const pages = async (): Promise<number> => {
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>({
        text: `explain (analyze, buffers, timing off, format json) ${statement.text}`,
        values: statement.values,
      });
      return rows[0]!['QUERY PLAN'][0].Plan['Shared Hit Blocks']!;
    };
    const statement = { text: '', values: [] as unknown[] };
    const recording = drizzle({
      client,
      logger: { logQuery: (text, values) => Object.assign(statement, { text, values }) },
    });
    expect((await dueWork(recording)).knowledge).toBe(false);
    expect(await pages()).toBeLessThan(100);
    await client.query(
      'update knowledge_sources set revision = 2 where id = (select max(id::text)::uuid from knowledge_sources)',
    );
    expect((await look()).knowledge).toBe(true);
  });

  it('while a budget is exceeded midnight is such a moment', async () => {
    await begin();
    await insert('budget_incidents', { status: 'open' });
    const { next_in_ms } = await look();
    expect(next_in_ms).toBeGreaterThan(0);
    expect(next_in_ms).toBeLessThanOrEqual(86_400_000);
  });
});
