import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, transaction, type Tx } from '@acp/db';
import { databaseWithQueue } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { sweeps, waitingSweeps } from './sweeps.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

type Row = readonly [table: string, columns: Readonly<Record<string, string>>];

const NOW = 'now()';
const ID = `'b0a7c3f2-11aa-4a7e-9c0d-0123456789ab'`;

/** What has to be looked at by each sweep; the columns that decide it, as SQL. */
const lost: Record<string, readonly Row[]> = {
  'queued-runs': [['heartbeat_runs', { status: `'queued'` }]],
  'waiting-chats': [['chat_messages', { status: `'waiting'` }]],
  councils: [['council_sessions', { status: `'running'` }]],
  evolutions: [['prompt_evolutions', { status: `'running'` }]],
  promotions: [['prompt_evolutions', { status: `'done'`, watch: `'watching'`, promoted_at: NOW }]],
  compiles: [['compiled_indexes', { status: `'compiling'` }]],
  'due-compiles': [
    ['companies', { id: ID }],
    ['compile_settings', { company_id: ID, next_at: `now() - interval '1 second'` }],
  ],
  subagents: [['subagents', { ended_at: 'null' }]],
  findings: [
    ['agents', { auto_extract_findings: 'true' }],
    ['heartbeat_runs', { status: `'succeeded'`, finished_at: `now() - interval '59 minutes'` }],
  ],
  wakeups: [['wakeup_requests', { status: `'pending'` }]],
  unsettled: [['companies', { deleted_at: NOW }]],
  budgets: [['agents', { budget_paused: 'true' }]],
  approvals: [['approvals', { status: `'approved'`, decided_at: NOW }]],
  'password-resets': [['account_mails', { purpose: `'reset_password'` }]],
  'pending-texts': [['attachment_texts', { status: `'reading'` }]],
  'remote-results': [['heartbeat_runs', { status: `'running'` }]],
  'offline-workers': [['workers', { online: 'true', last_seen_at: `now() - interval '6 minutes'` }]],
  'workspace-actions': [['workspace_actions', { status: `'queued'` }]],
};

const anything: Readonly<Record<string, string>> = {
  uuid: 'gen_random_uuid()',
  integer: '1',
  numeric: '1',
  boolean: 'false',
  jsonb: `'{}'`,
  ARRAY: `'{}'`,
  'timestamp with time zone': NOW,
};

async function insert(tx: Tx, [table, columns]: Row): Promise<void> {
  const { rows } = await tx.execute<{ name: string; type: string }>(sql`
    select column_name as name, data_type as type from information_schema.columns
    where table_schema = 'public' and table_name = ${table} and is_nullable = 'NO'
      and column_default is null and is_identity = 'NO' and is_generated = 'NEVER'`);
  const needed = rows.map(({ name, type }) => [name, anything[type] ?? `'x'`]);
  const all = Object.entries({ ...Object.fromEntries(needed), ...columns });
  const [names, values] = [0, 1].map((place) => all.map((pair) => pair[place]).join(', '));
  await tx.execute(sql.raw(`insert into ${table} (${names}) values (${values})`));
}

class Undone extends Error {}

/** What waits once there are these rows. They refer to nothing, and are removed again. */
async function waitingFor(rows: readonly Row[]): Promise<string[]> {
  let found: string[] = [];
  const trial = transaction(database, async (tx) => {
    await tx.execute(sql`set local session_replication_role = replica`);
    for (const row of rows) await insert(tx, row);
    found = await waitingSweeps(tx, sweeps);
    throw new Undone();
  });
  await expect(trial).rejects.toThrow(Undone);
  return found;
}

describe('the look for lost work', () => {
  it('finds nothing on an idle instance, in one statement', async () => {
    const before = database.statements();
    expect(await waitingSweeps(database.db, sweeps)).toEqual([]);
    expect(database.statements() - before).toBe(1);
  });

  it.each(sweeps.map(({ name }) => name))('finds what there is for the sweep %s', async (name) => {
    expect(await waitingFor(lost[name]!)).toContain(name);
  });
});
