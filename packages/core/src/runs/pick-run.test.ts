import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { cloneDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { kindTable } from '../run-kinds.ts';
import { pickRuns, pickStatement } from './pick-run.ts';
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
  // What has ended is most of the table.
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

/** The nodes of the executed plan that read the runs, with what they really read. */
async function readsOfRuns(most = 1): Promise<Plan[]> {
  const { rows } = await database.db.execute<{ 'QUERY PLAN': { Plan: Plan }[] }>(
    sql`explain (analyze, timing off, format json) ${pickStatement({ wait: false, most })}`,
  );
  return nodesOf(rows[0]!['QUERY PLAN'][0]!.Plan).filter(readsRuns);
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const readsRuns = (plan: Plan) => plan['Relation Name'] === 'heartbeat_runs';
const scans = (reads: Plan[]) => reads.filter((node) => node['Node Type'] === 'Seq Scan');
/** What a filter throws away was read too. */
const rowsRead = (reads: Plan[]) =>
  reads.reduce(
    (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    0,
  );

describe('the pick among 10,000 queued runs of 100 companies', () => {
  it('reads them through indexes, a few per company', async () => {
    const reads = await readsOfRuns();
    expect(scans(reads)).toEqual([]);
    expect(rowsRead(reads)).toBeLessThan(1500);
  });

  it('so, too, where eight of them are picked at once: of a company each, while none has two to spare', async () => {
    const reads = await readsOfRuns(8);
    expect(scans(reads)).toEqual([]);
    expect(rowsRead(reads)).toBeLessThan(3000);
    const { agent_ids } = await transaction(database, async (tx) => pickRuns(tx, { wait: false, most: 8 }));
    const { rows } = await database.db.execute(
      sql`select company_id from agents where id = any(${sql.param(agent_ids)}::uuid[]) group by 1`,
    );
    expect([agent_ids.length, rows.length]).toEqual([8, 8]);
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
    // All that wait behind the agents at their limit are passed by, once, and none of anybody else's.
    expect(rowsRead(reads)).toBeLessThan(13_500);
  });
});
