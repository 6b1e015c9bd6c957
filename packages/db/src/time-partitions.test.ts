import { beforeEach, describe, expect, it } from '@jest/globals';
import { cloneDatabase } from '@acp/testkit';
import {
  type Database,
  dropExpiredPartition,
  endTimePartition,
  partitionByTime,
  transaction,
} from './index.ts';
import { partitionByTimeStep } from './time-partitions.ts';

const never = new AbortController().signal;
let database: Database;
beforeEach(async () => {
  ({ database } = await cloneDatabase('quarters'));
});

const run = async <T>(text: string, values: unknown[] = []): Promise<T[]> =>
  (await database.pool.query(text, values)).rows as T[];

const act = async (at = 'now()') =>
  run(
    `insert into activity (company_id, actor_type, actor_name, action, entity_type, entity_id, details, created_at)
      values (gen_random_uuid(), 'system', 'tests', 'issue.updated', 'issue', gen_random_uuid(), '{}', ${at})`,
  );
const acts = async () => (await run<{ n: number }>('select count(*)::int as n from activity'))[0]!.n;

interface Part {
  part: string;
  begins: Date | null;
  ends: Date | null;
}
const parts = async () => run<Part>(`select * from time_partitions('activity')`).catch((): Part[] => []);
const indexes = async (table: string) =>
  (
    await run<{ def: string }>(
      `select regexp_replace(pg_get_indexdef(indexrelid), '^CREATE (UNIQUE )?INDEX \\S+ ON (ONLY )?\\S+ ', '\\1') as def
        from pg_index where indrelid = $1::regclass and indisvalid order by 1`,
      [table],
    )
  ).map(({ def }) => def);
const isQuarter = (date: Date) =>
  date.getUTCMonth() % 3 === 0 && date.toISOString().slice(7) === '-01T00:00:00.000Z';

/** The table as releases before had it. */
async function asBefore(): Promise<void> {
  await run(`
    alter table activity rename to gone;
    create table activity (like gone including defaults);
    drop table gone;
    alter table activity add constraint activity_pkey primary key (id);
    create index activity_company on activity (company_id, created_at desc, id desc);
    create index activity_company_type on activity (company_id, entity_type, created_at desc, id desc);
    create index activity_entity on activity (entity_id, created_at desc, id desc)`);
}

const step = async () => transaction(database, async (tx) => partitionByTimeStep(tx, 'activity'));
const end = async () => transaction(database, async (tx) => endTimePartition(tx, 'activity'));
const drop = async (days: number) =>
  transaction(database, async (tx) => dropExpiredPartition(tx, 'activity', days));

/** As if it were so much later: everything lies so much earlier. */
async function later(months: number): Promise<void> {
  const before = await parts();
  for (const { part } of before) await run(`alter table activity detach partition "${part}"`);
  const bound = (at: Date | null, open: string) =>
    at === null ? open : `('${at.toISOString()}'::timestamptz - interval '${months} months')`;
  for (const { part, begins, ends } of before) {
    await run(`update "${part}" set created_at = created_at - interval '${months} months'`);
    await run(
      `alter table activity attach partition "${part}" for values from (${bound(begins, 'minvalue')}) to (${bound(ends, 'maxvalue')})`,
    );
    await run(`alter table "${part}" rename to "was_${newName()}"`);
  }
}
let names = 0;
const newName = () => (names += 1);

describe('activity of a new instance', () => {
  it('lies in a partition to the end of a quarter and one after it, each with the indexes of the whole', async () => {
    await act();
    await act(`'2019-01-01'`);
    await act(`now() + interval '10 years'`);
    const [first, last, ...more] = await parts();
    expect(more).toEqual([]);
    expect([first!.begins, first!.ends, last!.ends]).toEqual([null, last!.begins, null]);
    expect(isQuarter(last!.begins!)).toBe(true);
    expect(last!.begins!.getTime() - Date.now()).toBeGreaterThan(85 * 86_400_000);
    const whole = await indexes('activity');
    expect(whole).toHaveLength(3);
    for (const { part } of [first!, last!])
      expect(await indexes(part)).toEqual(expect.arrayContaining(['UNIQUE USING btree (id)', ...whole]));
    expect(await acts()).toBe(3);
  });

  it('gets the next partition in time, once, also when nobody looked for years', async () => {
    expect(await end()).toBe(false);
    for (const [months, count] of [
      [6, 3],
      [40, 4],
    ] as const) {
      await later(months);
      await act();
      expect([await end(), await end()]).toEqual([true, false]);
      const now = await parts();
      expect(now).toHaveLength(count);
      expect(now.map(({ begins }) => begins).slice(1)).toEqual(now.map(({ ends }) => ends).slice(0, -1));
      expect(now.at(-1)!.begins!.getTime()).toBeGreaterThan(Date.now());
    }
    expect(await acts()).toBe(2);
  });

  it('goes by the partition once all of it is older than the days, and waits for nobody for long', async () => {
    await act();
    expect(await drop(1)).toBe(false);
    await later(24);
    await end();
    await act();
    await transaction(database, async (tx) => {
      await tx.execute('select from activity limit 1');
      await expect(drop(90)).rejects.toMatchObject({ kind: 'unavailable' });
    });
    expect([await drop(900), await drop(90), await drop(90)]).toEqual([false, true, false]);
    expect(await acts()).toBe(1);
  });
});

describe('activity of an instance that had some before', () => {
  it('becomes the first partition where it lies, while more is done', async () => {
    await asBefore();
    await act(`'2019-01-01'`);
    const done = new AbortController();
    let count = 1;
    const acting = (async () => {
      while (!done.signal.aborted) {
        await act();
        count += 1;
      }
    })();
    await partitionByTime(database, 'activity', never);
    done.abort();
    await acting;
    await act(`now() + interval '1 year'`);
    expect(await acts()).toBe(count + 1);
    const now = await parts();
    expect(now.map(({ part }) => part)).toEqual([
      'activity_first',
      expect.stringMatching(/^activity_\d{8}$/),
    ]);
    for (const { part } of now)
      expect(await indexes(part)).toEqual(expect.arrayContaining(await indexes('activity')));
    expect(await run(`select from pg_constraint where conname = 'activity_ends'`)).toEqual([]);
    expect(await step()).toBe(false);
  });

  it('is taken up where a killed process left it, and set anew where that was long ago', async () => {
    await asBefore();
    await act();
    const constraint = async () =>
      (
        await run<{ def: string; valid: boolean }>(
          `select pg_get_constraintdef(oid) as def, convalidated as valid from pg_constraint where conname = 'activity_ends'`,
        )
      )[0];
    const soon = new Date(Date.now() + 7 * 86_400_000).toISOString();
    await run(`alter table activity add constraint activity_ends check (created_at < '${soon}') not valid`);
    expect(await step()).toBe(true);
    const set = await constraint();
    expect(set?.valid).toBe(false);
    const killed = transaction(database, async (tx) => {
      await partitionByTimeStep(tx, 'activity');
      throw new Error('killed');
    });
    await expect(killed).rejects.toThrow('killed');
    expect(await constraint()).toEqual(set);
    expect([await step(), (await constraint())?.valid]).toEqual([true, true]);
    expect(await step()).toBe(false);
    expect(await parts()).toHaveLength(2);
    expect(await acts()).toBe(1);
  });
});
