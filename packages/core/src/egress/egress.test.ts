import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createCompany, databaseWithQueue, nextInstant } from '@acp/testkit';
import { and, desc, eq, sql } from 'drizzle-orm';
import {
  addEgressHost,
  deleteRefusalsBefore,
  egressList,
  listRefusals,
  readEgress,
  recordRefusals,
  runRefusals,
  setEgress,
} from './index.ts';

const { activity, egress_refusals } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const admin = actors.board(company, 'admin');
  const set = async (hosts: string[] | null, version: number) =>
    transaction(database, async (tx) => setEgress(tx, admin, company.id, { hosts, version }));
  const add = async (host: string) =>
    transaction(database, async (tx) => addEgressHost(tx, admin, company.id, host));
  const read = async () => readEgress(database.db, company.id);
  return { company, set, add, read };
}

describe('the list of hosts of a company', () => {
  it('is none until somebody writes one, and keeps each host once as it is compared', async () => {
    const { company, set, add, read } = await setUp();
    expect(await read()).toEqual({ hosts: null, version: 0 });
    expect(await egressList(database.db, company.id)).toBeNull();
    await expect(add('late.example')).rejects.toMatchObject({ kind: 'conflict' });
    const hosts = ['Registry.NPM.example:443', 'registry.npm.example', '*.git.example:22'];
    expect(await set(hosts, 0)).toEqual({ hosts: ['*.git.example:22', 'registry.npm.example'], version: 1 });
    expect(await add('api.example')).toMatchObject({ version: 2 });
    expect(await add('api.example:443')).toMatchObject({ version: 2 });
    const list = await egressList(database.db, company.id);
    expect([list?.covers('api.example', 443), list?.covers('other.example', 443)]).toEqual([true, false]);
    expect(await set([], 2)).toEqual({ hosts: [], version: 3 });
    expect((await egressList(database.db, company.id))?.covers('api.example', 443)).toBe(false);
    expect(await set(null, 3)).toEqual({ hosts: null, version: 4 });
  });

  it('tells the activity what each version has added and removed', async () => {
    const { company, set } = await setUp();
    await set(['a.example', 'b.example'], 0);
    await nextInstant();
    await set(['b.example', 'c.example'], 1);
    const [entry] = await database.db
      .select()
      .from(activity)
      .where(and(eq(activity.company_id, company.id), eq(activity.action, 'company.egress_updated')))
      .orderBy(desc(activity.created_at))
      .limit(1);
    expect(entry?.details).toEqual({
      version: 2,
      hosts: ['b.example', 'c.example'],
      added: ['c.example'],
      removed: ['a.example'],
    });
  });

  it('that was changed meanwhile, or has a line that is no host, is not replaced', async () => {
    const { set, read } = await setUp();
    await expect(set(['a.example'], 3)).rejects.toMatchObject({ kind: 'conflict' });
    await set(['a.example'], 0);
    for (const version of [0, 2])
      await expect(set(['b.example'], version)).rejects.toMatchObject({ kind: 'conflict' });
    await expect(set(['*'], 1)).rejects.toThrow('“*” is none');
    expect(await read()).toEqual({ hosts: ['a.example'], version: 1 });
  });
});

describe('refusals', () => {
  const run_id = '6f1c5f8e-0000-4000-8000-000000000001';
  const refused = (host: string, times = 1, door: 'program' | 'plugin' = 'program') => ({
    host,
    port: 443,
    times,
    door,
  });

  it('are counted by run and over all that asked, and another company sees none', async () => {
    const { company } = await setUp();
    const { company: other } = await setUp();
    const record = async (run: string | null, ...what: ReturnType<typeof refused>[]) =>
      recordRefusals(database.db, { company_id: company.id, run_id: run }, what);
    await record(run_id, refused('evil.example', 3), refused('evil.example', 1), refused('b.example'));
    await record(run_id, refused('evil.example', 2));
    await record(null, refused('evil.example', 1, 'plugin'));
    expect(await runRefusals(database.db, run_id)).toEqual([
      refused('evil.example', 6),
      refused('b.example'),
    ]);
    const [first] = await listRefusals(database.db, company.id);
    expect(first).toMatchObject({ host: 'evil.example', times: 7, doors: ['plugin', 'program'], run_id });
    expect(await listRefusals(database.db, other.id)).toEqual([]);
  });

  it('are counted up to two billion, however many a worker reports', async () => {
    const { company } = await setUp();
    const most = Array.from({ length: 2200 }, () => refused('evil.example', 1_000_000));
    const runs = [run_id, '6f1c5f8e-0000-4000-8000-000000000002'];
    for (const id of runs) await recordRefusals(database.db, { company_id: company.id, run_id: id }, most);
    expect(await listRefusals(database.db, company.id)).toMatchObject([{ times: 2_000_000_000 }]);
  });

  it('that no run asked for are bounded, and what is known goes on being counted', async () => {
    const { company } = await setUp();
    const of = { company_id: company.id, run_id: null };
    const many = Array.from({ length: 200 }, (_, at) => refused(`h${at}.example`));
    await recordRefusals(database.db, of, many);
    await recordRefusals(database.db, of, [refused('new.example'), refused('h7.example', 4)]);
    const rows = await database.db
      .select()
      .from(egress_refusals)
      .where(eq(egress_refusals.company_id, company.id));
    expect(rows).toHaveLength(200);
    expect(rows.find(({ host }) => host === 'h7.example')?.times).toBe(5);
    await database.db
      .update(egress_refusals)
      .set({ last_at: sql`now() - interval '40 days'` })
      .where(eq(egress_refusals.company_id, company.id));
    expect(await deleteRefusalsBefore(database.db, 30, 150)).toBe(150);
    expect(await deleteRefusalsBefore(database.db, 30, 150)).toBe(50);
  });
});
