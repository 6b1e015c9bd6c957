/** @in-order the queue grows from test to test */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { cloneDatabase } from '@acp/testkit';
import { type SQL, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { kindTable } from '../run-kinds.ts';
import { pickRuns, pickStatement, someQueued } from './pick-run.ts';
import { registerRunKind } from './run-kinds.ts';

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

let database: Database;
beforeAll(async () => {
  for (const kind of kindTable) registerRunKind(kind);
  ({ database } = await cloneDatabase('pick'));
  await database.db.execute(sql`
    insert into companies (name, slug, identifier_prefix)
    select 'Company ' || n, 'company-' || n, 'COM' from generate_series(1, 100) n`);
  await database.db.execute(sql`
    insert into agents (company_id, name, role, adapter_type, heartbeat_enabled, heartbeat_interval_sec, max_concurrent_runs)
    select id, 'Agent ' || n, 'engineer', 'llm', false, 300, 2 from companies, generate_series(1, 10) n`);
  await addRuns('queued', 10);
  // Ended runs are most of the table.
  await addRuns('succeeded', 40);
  await database.db.execute(sql`
    update heartbeat_runs set status = 'running' where id in (
      select id from heartbeat_runs where status = 'queued' order by random() limit 64)`);
  await database.db.execute(sql`analyze`);
});

async function addRuns(status: string, each: number) {
  await database.db.execute(sql`
    insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type, status, created_at)
    select company_id, id, 'manual', 'llm', ${status}, now() - make_interval(secs => random() * 10000)
    from agents, generate_series(1, ${each}) n`);
}

/** The nodes of the executed plan that read runs, with their actual row counts. */
async function readsOfRuns(
  most = 1,
  of = database,
  statement = pickStatement({ among: 'companies', wait: false, most }),
): Promise<Plan[]> {
  const { rows } = await of.db.execute<{ 'QUERY PLAN': { Plan: Plan }[] }>(
    sql`explain (analyze, timing off, format json) ${statement}`,
  );
  return nodesOf(rows[0]!['QUERY PLAN'][0]!.Plan).filter(readsRuns);
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const readsRuns = (plan: Plan) => plan['Relation Name'] === 'heartbeat_runs';
const scans = (reads: Plan[]) => reads.filter((node) => node['Node Type'] === 'Seq Scan');
/** Rows that a filter removes were read, too. */
const rowsRead = (reads: Plan[]) =>
  reads.reduce(
    (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    0,
  );

describe('the pick among 10,000 queued runs of 100 companies', () => {
  it('reads them through indexes, a few per company', async () => {
    const reads = await readsOfRuns();
    expect(scans(reads)).toEqual([]);
    expect(rowsRead(reads)).toBeLessThan(600);
  });

  it('so, too, where eight of them are picked at once: of a company each, while none has two to spare', async () => {
    const reads = await readsOfRuns(8);
    expect(scans(reads)).toEqual([]);
    expect(rowsRead(reads)).toBeLessThan(3000);
    const { agent_ids } = await transaction(database, async (tx) =>
      pickRuns(tx, { among: 'companies', wait: false, most: 8 }),
    );
    const { rows } = await database.db.execute(
      sql`select company_id from agents where id = any(${sql.param(agent_ids)}::uuid[]) group by 1`,
    );
    expect([agent_ids.length, rows.length]).toEqual([8, 8]);
  });

  it('is three statements for whatever number is wanted: every connection keeps each', () => {
    const texts = (among: 'front' | 'companies', wait: boolean): Set<string> =>
      new Set(
        Array.from({ length: 100 }, (_, n) => {
          const statement = pickStatement({ among, wait, most: n + 1 }, sql.placeholder('most'));
          return new PgDialect().sqlToQuery(statement).sql;
        }),
      );
    const all = (['front', 'companies'] as const).flatMap((among) => [
      texts(among, false),
      texts(among, true),
    ]);
    expect(all.map(({ size }) => size)).toEqual([3, 3, 3, 3]);
  });

  it('stays so when one company has most of them and its agents are at their limit', async () => {
    await database.db.execute(sql`
      update heartbeat_runs set status = 'running' where id in (
        select id from (
          select r.id, row_number() over (partition by r.agent_id order by r.created_at) as place
          from heartbeat_runs r where r.status = 'queued'
            and r.company_id = (select id from companies order by id limit 1)
        ) first where place <= 2)`);
    await database.db.execute(sql`
      insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type)
      select company_id, id, 'manual', 'llm' from agents, generate_series(1, 1000) n
      where company_id = (select id from companies order by id limit 1)`);
    await database.db.execute(sql`analyze heartbeat_runs`);
    const reads = await readsOfRuns();
    expect(scans(reads)).toEqual([]);
    // Runs queued behind agents at their limit are not read just to find that they must wait.
    expect(rowsRead(reads)).toBeLessThan(2000);
  });
});

describe('the pick while runs of one company stand before those of 500 others', () => {
  let small: Database;
  const pick = async (among: 'front' | 'companies') =>
    transaction(small, async (tx) => pickRuns(tx, { among, wait: false, most: 1 }));
  const picked = async (): Promise<{ company_id: string; created_at: string }> => {
    const front = await pick('front');
    const { agent_ids } = front.crowded ? await pick('companies') : front;
    const { rows: runs } = await small.db.execute<{ company_id: string; created_at: string }>(
      sql`select company_id, created_at from heartbeat_runs where agent_id = ${agent_ids[0]!} and status = 'queued'
          order by created_at limit 1`,
    );
    return runs[0]!;
  };
  const queue = async (where: SQL, each: number, age_sec: number) =>
    small.db.execute(sql`
      insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type, created_at)
      select company_id, id, 'manual', 'llm', now() - make_interval(secs => ${age_sec} + n)
      from agents, generate_series(1, ${each}) n where ${where}`);
  const first = sql`company_id = (select id from companies order by name limit 1)`;

  beforeAll(async () => {
    small = (await cloneDatabase('pick_front')).database;
    await small.db.execute(sql`
      insert into companies (name, slug, identifier_prefix)
      select 'Company ' || to_char(n, '0000'), 'company-' || n, 'COM' from generate_series(1, 501) n`);
    await small.db.execute(sql`
      insert into agents (company_id, name, role, adapter_type, heartbeat_enabled, heartbeat_interval_sec, max_concurrent_runs)
      select id, 'Agent', 'engineer', 'llm', false, 300, 2 from companies`);
    await queue(sql`not ${first}`, 2, 100);
    await small.db.execute(sql`analyze`);
  });

  it('is the oldest of all where its company has none running', async () => {
    await queue(first, 100, 10_000);
    const { company_id } = await picked();
    const { rows } = await small.db.execute(
      sql`select id from companies where id = ${company_id} and name like '% 0001'`,
    );
    expect(rows).toHaveLength(1);
  });

  it('where it has one running, one of the others is next, another one each time, for the same price', async () => {
    await small.db.execute(sql`
      update heartbeat_runs set status = 'running' where id = (select id from heartbeat_runs order by created_at limit 1)`);
    expect(await pick('front')).toMatchObject({ agent_ids: [], crowded: true });
    const companies = new Set<string>();
    for (let n = 0; n < 20; n += 1) companies.add((await picked()).company_id);
    const { rows } = await small.db.execute<{ company_id: string }>(
      sql`select company_id from heartbeat_runs where status = 'running'`,
    );
    expect(companies.has(rows[0]!.company_id)).toBe(false);
    expect(companies.size).toBeGreaterThan(3);
    const reads = await readsOfRuns(1, small);
    expect(scans(reads)).toEqual([]);
    expect(rowsRead(reads)).toBeLessThan(1000);
  });

  it('whoever looks for runs that lost their jobs looks at the front, and at other companies each time', async () => {
    const seen = new Set<unknown>();
    for (let n = 0; n < 5; n += 1) {
      const { rows } = await small.db.execute(
        sql`select distinct company_id from heartbeat_runs where id in (${someQueued(50)})`,
      );
      for (const { company_id } of rows) seen.add(company_id);
    }
    expect(seen.size).toBeGreaterThan(70);
    const reads = await readsOfRuns(1, small, someQueued(50));
    expect(scans(reads)).toEqual([]);
    expect(rowsRead(reads)).toBeLessThan(1000);
  });
});
