import { beforeEach, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { cloneDatabase, createAgent, createCompany, waitFor, waitingForLocks } from '@acp/testkit';
import { type Database, deleteCostTotals, mergeDayTotals, partitionByTime } from './index.ts';

const never = new AbortController().signal;
let database: Database;
let company: { id: string };
let agent: { id: string };
beforeEach(async () => {
  ({ database } = await cloneDatabase('day_totals'));
  company = await createCompany(database.db);
  agent = await createAgent(database.db, company);
});

const run = async <T>(text: string, values: unknown[] = []): Promise<T[]> =>
  (await database.pool.query(text, values)).rows as T[];

interface Spent {
  at?: string;
  model?: string;
  agent_id?: string | null;
  estimated?: boolean;
}
const spend = async (
  usd: number,
  { at = 'now()', model = 'm', agent_id = null, estimated = false }: Spent = {},
) =>
  run(
    `insert into cost_events (company_id, agent_id, run_id, provider, model, input_tokens, output_tokens, cached_tokens, cost_usd, price_estimated, occurred_at)
      values ($1, $2, case when $2::uuid is null then null else gen_random_uuid() end, 'p', $3, 2, 1, 0, $4, $5, ${at})`,
    [company.id, agent_id, model, usd, estimated],
  );
const ended = async (status: string, at = 'now()') =>
  run<{ id: string }>(
    `insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type, status, created_at)
      values ($1, $2, 'manual', 'llm', $3, ${at}) returning id`,
    [company.id, agent.id, status],
  );
const costDays = async () =>
  run(`select day - (now() at time zone 'UTC')::date as ago, agent_id is null as of_nobody, model, sum(cost_usd)::float8 as usd,
      sum(estimated_usd)::float8 as estimated, sum(input_tokens)::int as input, sum(output_tokens)::int as output, sum(runs)::int as runs
    from cost_days group by day, agent_id, model order by day, model, agent_id`);
const runDays = async () =>
  run(`select day - (now() at time zone 'UTC')::date as ago, sum(runs)::int as runs, sum(succeeded)::int as succeeded, sum(failed)::int as failed
    from run_days group by day order by day`);
const merge = async () => mergeDayTotals(database, never);
const rowsOf = async (table: string) =>
  (await run<{ n: number }>(`select count(*)::int as n from ${table}`))[0]!.n;
const completeSince = async () =>
  run<{ name: string; complete_from: string }>('select name, complete_from::text from day_totals order by 1');

/** As after an upgrade so many days ago: nothing older was added. */
async function upgraded(days: number): Promise<void> {
  await run(`update day_totals set complete_from = (now() at time zone 'UTC')::date - $1::int`, [days]);
  await run(`delete from cost_days where day < (now() at time zone 'UTC')::date - $1::int`, [days]);
  await run(`delete from run_days where day < (now() at time zone 'UTC')::date - $1::int`, [days]);
}

/** By what the sums differ from those of the merged rows. */
const wrongSums = async () =>
  run(`
    with expected as (
      select company_id, dimension, day, key, sum(cost_usd) as cost_usd, sum(estimated_usd) as estimated_usd,
        sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(runs) as runs
      from cost_days cross join lateral (
        values ('agent', coalesce(agent_id::text, '')), ('project', coalesce(project_id::text, '')), ('model', model)
      ) k (dimension, key) where merged group by 1, 2, 3, 4
    )
    select * from expected full join (select * from cost_day_sums where cost_usd <> 0 or input_tokens <> 0) s
      using (company_id, dimension, day, key, cost_usd, estimated_usd, input_tokens, output_tokens, runs)
    where expected is null or s is null`);
const sumsOf = async () =>
  run(
    `select dimension, count(*)::int as n, sum(cost_usd)::float8 as usd from cost_day_sums group by 1 order by 1`,
  );

describe('the sums of merged totals', () => {
  const some = async () => {
    for (const [n, at] of ['now()', `now() - interval '2 days'`, 'now()'].entries()) {
      await spend(2 ** n, { at, model: `m${n % 2}`, agent_id: n === 1 ? null : agent.id });
      await spend(8 * 2 ** n, { at, estimated: true });
    }
  };

  it('are by agent, project and model of each day, and are kept as rows are merged', async () => {
    await some();
    expect(await sumsOf()).toEqual([]);
    await merge();
    const usd = 7 + 56;
    const all = (usd_of_all: number) => [
      { dimension: 'agent', n: 3, usd: usd_of_all },
      { dimension: 'model', n: 4, usd: usd_of_all },
      { dimension: 'project', n: 2, usd: usd_of_all },
    ];
    expect([await sumsOf(), await wrongSums()]).toEqual([all(usd), []]);
    await some();
    expect([await sumsOf(), await wrongSums()]).toEqual([all(usd), []]);
    await merge();
    expect([await sumsOf(), await wrongSums()]).toEqual([all(2 * usd), []]);
  });

  it('follow rows that are deleted, and go with their days', async () => {
    await some();
    await merge();
    await run(`delete from cost_days where model = 'm'`);
    expect([await wrongSums(), (await sumsOf()).map((each) => (each as { usd: number }).usd)]).toEqual([
      [],
      [7, 7, 7],
    ]);
  });

  it('are filled by the migration with what was merged before, whatever came in between', async () => {
    await some();
    await merge();
    await run('update cost_day_sums set cost_usd = 1000');
    await run(`delete from cost_day_sums where dimension = 'model'`);
    await some();
    const text = await readFile(
      new URL('../../../drizzle/0103_cost-day-sums-filled.sql', import.meta.url),
      'utf8',
    );
    await run(text);
    expect(await wrongSums()).toEqual([]);
  });
});

describe('the totals of a day', () => {
  it('are complete from the start in a new instance', async () => {
    expect(await completeSince()).toEqual([
      { name: 'cost_days', complete_from: '-infinity' },
      { name: 'run_days', complete_from: '-infinity' },
    ]);
    await merge();
    expect(await completeSince()).toHaveLength(2);
  });

  it('contain each cost event once, by agent and model', async () => {
    await spend(1);
    await spend(2, { estimated: true });
    await spend(4, { model: 'n' });
    await spend(8, { agent_id: agent.id });
    await spend(16, { agent_id: agent.id });
    await spend(32, { at: `now() - interval '3 days'` });
    const day = { ago: 0, of_nobody: true, model: 'm', estimated: 0, runs: 0 };
    const totals = [
      { ...day, ago: -3, usd: 32, input: 2, output: 1 },
      { ...day, of_nobody: false, usd: 24, input: 4, output: 2, runs: 2 },
      { ...day, usd: 3, estimated: 2, input: 4, output: 2 },
      { ...day, model: 'n', usd: 4, input: 2, output: 1 },
    ];
    expect([await costDays(), await rowsOf('cost_days')]).toEqual([totals, 6]);
    await merge();
    expect([await costDays(), await rowsOf('cost_days')]).toEqual([totals, 4]);
    await spend(64);
    await merge();
    expect(await rowsOf('cost_days')).toBe(4);
    expect((await costDays()).map((each) => (each as { usd: number }).usd)).toEqual([32, 24, 67, 4]);
    expect(await wrongSums()).toEqual([]);
  });

  it('are the same whenever they are read and merged', async () => {
    const spending = Array.from({ length: 20 }, async (_, n) => {
      await spend(1, { agent_id: n % 2 === 0 ? agent.id : null });
      await merge();
      const [{ usd }] = (await run(
        `select (select sum(cost_usd) from cost_days) - (select sum(cost_usd) from cost_events) as usd`,
      )) as [{ usd: string }];
      return Number(usd);
    });
    expect(await Promise.all(spending)).toEqual(spending.map(() => 0));
    await merge();
    expect([
      await rowsOf('cost_days'),
      (await costDays()).map((each) => (each as { usd: number }).usd),
    ]).toEqual([2, [10, 10]]);
  });

  it('contain the event of a table that becomes partitioned afterwards', async () => {
    await run(`
      alter table cost_events rename to gone;
      create table cost_events (like gone including defaults);
      drop table gone;
      alter table cost_events add constraint cost_events_pkey primary key (id);
      create trigger cost_events_days after insert on cost_events for each row execute function add_to_cost_days()`);
    await spend(1);
    await partitionByTime(database, 'cost_events', never);
    expect(await run(`select part from time_partitions('cost_events')`)).toHaveLength(2);
    await spend(2);
    await spend(4, { at: `now() + interval '10 years'` });
    expect((await costDays()).map((each) => (each as { usd: number }).usd)).toEqual([3, 4]);
  });

  it('contain a run once it has ended, on the day it was created', async () => {
    const [{ id }] = (await ended('queued', `now() - interval '1 day'`)) as [{ id: string }];
    await ended('cancelled');
    expect(await runDays()).toEqual([{ ago: 0, runs: 1, succeeded: 0, failed: 0 }]);
    for (const status of ['running', 'failed'])
      await run('update heartbeat_runs set status = $1 where id = $2', [status, id]);
    await run(`update heartbeat_runs set summary = 'x', status = status where id = $1`, [id]);
    await ended('succeeded');
    expect(await runDays()).toEqual([
      { ago: -1, runs: 1, succeeded: 0, failed: 1 },
      { ago: 0, runs: 2, succeeded: 1, failed: 0 },
    ]);
  });
});

describe('after an upgrade', () => {
  const anHourLater = async () => run(`update day_totals set complete_from = complete_from - 1`);

  it('older days are totalled once the day of the upgrade is over, and each event is counted once', async () => {
    for (const at of [`now() - interval '90 days'`, `now() - interval '2 days'`]) {
      await spend(1, { at });
      await ended('succeeded', at);
    }
    await upgraded(-1);
    const before = await completeSince();
    // Reported for a day before: the total is not complete yet.
    await spend(2, { at: `now() - interval '90 days'` });
    await merge();
    expect(await completeSince()).toEqual(before);
    await anHourLater();
    await anHourLater();
    await spend(4);
    await ended('queued', `now() - interval '2 days'`);
    await merge();
    expect((await completeSince()).map((each) => each.complete_from)).toEqual(['-infinity', '-infinity']);
    expect((await costDays()).map((each) => (each as { usd: number }).usd)).toEqual([3, 1, 4]);
    expect(await runDays()).toMatchObject([
      { ago: -90, runs: 1 },
      { ago: -2, runs: 1 },
    ]);
    await spend(8, { at: `now() - interval '2 days'` });
    expect((await costDays()).map((each) => (each as { usd: number }).usd)).toEqual([3, 9, 4]);
    expect(await wrongSums()).toEqual([]);
  });

  it.each([
    ['of a day that is being totalled', "now() - interval '2 days'"],
    ['of a day without any', "now() - interval '5 days'"],
  ])('an event that comes in between, %s, is counted once', async (_, at) => {
    await spend(1, { at: `now() - interval '2 days'` });
    await upgraded(1);
    const late = await database.pool.connect();
    await late.query('begin');
    await late.query(
      `insert into cost_events (company_id, provider, model, input_tokens, output_tokens, cached_tokens, cost_usd, occurred_at)
        values ($1, 'p', 'm', 0, 0, 0, 2, ${at})`,
      [company.id],
    );
    await merge();
    await late.query('commit');
    late.release();
    await merge();
    const [{ usd }] = (await run(`select sum(cost_usd)::float8 as usd from cost_days`)) as [{ usd: number }];
    expect({ usd, since: (await completeSince())[0]!.complete_from }).toEqual({ usd: 3, since: '-infinity' });
  });
});

describe('old totals', () => {
  const sum = async (dimension: string, key: string) =>
    run(`insert into cost_day_sums values ($1, $2, '2020-01-01', $3, 1, 0, 1, 1, 1)`, [
      company.id,
      dimension,
      key,
    ]);
  beforeEach(async () => {
    // Their quarter is gone.
    await run(`alter table cost_events detach partition cost_events_first;
      alter table cost_events attach partition cost_events_first for values from ('2021-01-01') to ('2021-02-01')`);
  });

  it('are deleted while a late cost is merged into them, and neither fails', async () => {
    // Deleted as they lie in the table, and merged by their dimension.
    for (const [dimension, key] of [
      ['project', ''],
      ['model', 'held'],
      ['agent', ''],
    ] as const)
      await sum(dimension, key);
    const other = await database.pool.connect();
    await other.query(`begin; select from cost_day_sums where key = 'held' for update`);
    const deleting = deleteCostTotals(database, 100);
    await waitFor(async () => (await waitingForLocks(database)) === 1);
    await run(`insert into cost_days values ($1, '2020-01-01', null, null, 'late', 1, 0, 1, 1, 1, false)`, [
      company.id,
    ]);
    let merged = false;
    const merging = merge().finally(() => {
      merged = true;
    });
    await waitFor(async () => merged || (await waitingForLocks(database)) === 2);
    await other.query('commit');
    other.release();
    expect(await Promise.all([deleting, merging])).toEqual([3, undefined]);
    await merge();
    expect(await deleteCostTotals(database, 100)).toBe(4);
    expect(await sumsOf()).toEqual([]);
  });

  it('are deleted by so many at a time, their sums last', async () => {
    await run(
      `insert into cost_days select $1, '2020-01-01', null, null, 'm' || n, 1, 0, 1, 1, 1, true from generate_series(1, 5) n`,
      [company.id],
    );
    const deleted: number[] = [];
    for (let bite = 0; bite < 5; bite += 1) deleted.push(await deleteCostTotals(database, 4));
    expect(deleted).toEqual([4, 4, 4, 0, 0]);
  });
});
