import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, mergeDayTotals } from '@acp/db';
import { cloneDatabase, createAgent, createCompany } from '@acp/testkit';
import { sql, type SQL } from 'drizzle-orm';
import { dayFigures } from '../figures/index.ts';
import { type CostDimension, type CostScope, spendingBetween, spendingSince } from './cost-days.ts';
import { spending, summarizeCosts, summarizeCostsBy } from './index.ts';

const DAY_MS = 86_400_000;
/** Events of each agent and model per day. */
const PER_DAY = 40;
const DAYS = 40;

let database: Database;
let company: { id: string };
let agents: { id: string }[];
/** Midnight, the start of today (UTC). */
const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;

beforeAll(async () => {
  ({ database } = await cloneDatabase('cost_days'));
  company = await createCompany(database.db);
  agents = [await createAgent(database.db, company), await createAgent(database.db, company)];
  const other = await createCompany(database.db);
  await database.pool.query(
    `insert into cost_events (company_id, agent_id, project_id, run_id, provider, model, input_tokens, output_tokens, cached_tokens, cost_usd, price_estimated, occurred_at)
    select company_id, agent_id, case when n % 4 > 0 then md5((n % 4)::text)::uuid end, case when n % 3 > 0 then gen_random_uuid() end, 'p', model, n, 1, 0, n * 0.0001, n % 5 = 0,
      $4::timestamptz - make_interval(days => day) + n * interval '36 minutes'
    from unnest(array[$1, $2]::uuid[]) company_id, unnest($3::uuid[]) agent_id, unnest(array['big', 'small']) model,
      generate_series(1, ${DAYS}) day, generate_series(0, ${PER_DAY} - 1) n`,
    [company.id, other.id, [...agents.map(({ id }) => id), null], new Date(today)],
  );
  await database.pool.query('analyze');
});

interface Sums extends Record<string, unknown> {
  usd: number;
  estimated: number;
  input: number;
  runs: number;
  days: number;
}
/** From the totals of the company, the same by each dimension. */
async function between(company_id: string, from: string | null, to: string | null): Promise<Sums> {
  const by: CostDimension[] = ['agent', 'project', 'model'];
  const spent = spendingBetween(company_id, by, from, to);
  const found: Sums[] = [];
  for (const each of by) found.push(await sums(sql`select * from (${spent}) s where dimension = ${each}`));
  expect(found).toEqual(found.map(() => found[0]));
  return found[0]!;
}

const sums = async (relation: SQL): Promise<Sums> =>
  (
    await database.db
      .execute<Sums>(sql`select coalesce(sum(cost_usd), 0)::float8 as usd, coalesce(sum(estimated_usd), 0)::float8 as estimated,
      coalesce(sum(input_tokens), 0)::int as input, coalesce(sum(runs), 0)::int as runs, count(distinct day)::int as days from (${relation}) s`)
  ).rows[0]!;

/** From the events alone. */
const expected = (scope: CostScope, from: Date | null, to: Date | null): SQL => sql`
  select (e.occurred_at at time zone 'UTC')::date as day, e.cost_usd, case when e.price_estimated then e.cost_usd else 0 end as estimated_usd,
    e.input_tokens, (e.run_id is not null)::int as runs from cost_events e
  where ${'agent_id' in scope ? sql`e.agent_id = ${scope.agent_id}` : sql`e.company_id = ${scope.company_id}`}
    and e.occurred_at >= coalesce(${text(from)}::timestamptz, '-infinity')
    and e.occurred_at < coalesce(${text(to)}::timestamptz, 'infinity')`;

const text = (time: Date | null): string | null => time?.toISOString() ?? null;
const at = (days: number): Date => new Date(today - days * DAY_MS);
const spans: [string, Date | null, Date | null][] = [
  ['all time', null, null],
  ['whole days', at(20), at(10)],
  ['parts of days at both ends', at(20.3), at(9.7)],
  ['part of one day', at(5.7), at(5.2)],
  ['from noon to noon of the next day', at(5.5), at(4.5)],
  ['less than a minute', at(5.5), new Date(at(5.5).getTime() + 30_000)],
  ['one instant', at(5.5), at(5.5)],
  ['an end before its start', at(5.5), at(7.5)],
  ['since a midnight', at(8), null],
  ['until an hour', null, at(30.4)],
  ['the future', at(-1), at(-3)],
  ['all years', new Date('0001-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59.999Z')],
  ['the last day of all', new Date('9999-12-31T12:00:00Z'), null],
];

/** As after an upgrade: the totals of earlier days are missing or wrong. */
async function completeSince(day: Date | null): Promise<void> {
  const from = day === null ? '-infinity' : day.toISOString().slice(0, 10);
  await database.pool.query(`update day_totals set complete_from = $1`, [from]);
  await database.pool.query('delete from cost_days');
  await database.pool.query('delete from cost_day_sums');
  await database.pool.query(`
    insert into cost_days (company_id, day, agent_id, project_id, model, cost_usd, estimated_usd, input_tokens, output_tokens, runs, merged)
    select company_id, (occurred_at at time zone 'UTC')::date, agent_id, project_id, model, cost_usd,
      case when price_estimated then cost_usd else 0 end, input_tokens, output_tokens, (run_id is not null)::int, input_tokens % 3 = 0
    from cost_events`);
  for (const table of day === null ? [] : ['cost_days', 'cost_day_sums'])
    await database.pool.query(`update ${table} set cost_usd = 1000 where day < $1`, [from]);
}

it('leaves out what was spent just before an instant between two milliseconds', async () => {
  await completeSince(null);
  const scope = { company_id: (await createCompany(database.db)).id };
  const midnight = text(at(8))!;
  await database.pool.query(
    `insert into cost_events (company_id, provider, model, input_tokens, output_tokens, cached_tokens, cost_usd, occurred_at)
      values ($1, 'p', 'big', 1, 0, 0, 1, $2)`,
    [scope.company_id, midnight],
  );
  const since = async (from: string) => (await between(scope.company_id, from, null)).usd;
  expect([await since(midnight), await since(midnight.replace('.000Z', '.0005Z'))]).toEqual([1, 0]);
});

describe.each([
  ['with totals of all days', null],
  ['with totals of the last 12 days', 12],
  ['with totals from tomorrow on', -1],
])('spending, %s,', (_, days) => {
  beforeAll(async () => completeSince(days === null ? null : at(days)));

  it.each(spans)('in %s is the sum of its events', async (_span, from, to) => {
    expect(await between(company.id, text(from), text(to))).toEqual(
      await sums(expected({ company_id: company.id }, from, to)),
    );
  });

  it('since a day is the sum of its events', async () => {
    const day = sql`${at(20).toISOString().slice(0, 10)}::date`;
    for (const scope of [{ company_id: company.id }, { agent_id: agents[0]!.id }])
      expect(await sums(spendingSince(scope, day))).toEqual(await sums(expected(scope, at(20), null)));
  });

  it('by agent, project, model and day is the sum of their events', async () => {
    const [from, to] = [text(at(20.3))!, text(at(9.7))!];
    const groups = { agent: 'agent_id', project: 'project_id', model: 'model', day: 'day' };
    const names = ['agent', 'project', 'model', 'day'] as const;
    const all = await summarizeCostsBy(database.db, company.id, { from, to }, names);
    for (const [place, name] of names.entries()) {
      const { rows } = await database.db.execute(sql`
        select key, sum(cost_usd)::float8 as cost_usd, sum(estimated_usd)::float8 as estimated_usd, sum(input_tokens)::int as input_tokens,
          sum(output_tokens)::int as output_tokens, count(run_id)::int as runs
        from (
          select *, case when price_estimated then cost_usd else 0 end as estimated_usd, ${sql.raw(groups[name])}::text as key
          from (select *, (occurred_at at time zone 'UTC')::date as day from cost_events) e
          where company_id = ${company.id} and occurred_at >= ${from} and occurred_at < ${to}
        ) e group by key order by ${name === 'day' ? sql`` : sql`sum(cost_usd) desc,`} key`);
      const found = all[place]!.groups.map(({ label: _label, ...group }) => group);
      expect(found).toEqual(rows);
      expect((await summarizeCosts(database.db, company.id, { from, to, group_by: name })).groups).toEqual(
        all[place]!.groups,
      );
    }
  });
});

it('spans the years that a time zone adds', async () => {
  await completeSince(null);
  const all = await between(company.id, '0001-01-01T00:00:00+14:00', '9999-12-31T23:59:59-14:00');
  expect(all).toEqual(await sums(expected({ company_id: company.id }, null, null)));
});

describe('with complete totals', () => {
  beforeAll(async () => {
    await completeSince(null);
    await mergeDayTotals(database, new AbortController().signal);
    await database.pool.query('vacuum analyze cost_days, cost_day_sums');
  });

  interface Plan {
    'Relation Name'?: string;
    'Actual Rows': number;
    'Actual Loops': number;
    Plans?: Plan[];
  }
  /** Rows that were read of each table and its partitions. */
  function rowsRead(plan: Plan, found: Record<string, number> = {}): Record<string, number> {
    const table = plan['Relation Name']?.replace(/_(first|\d{8})$/, '');
    if (table !== undefined) found[table] = (found[table] ?? 0) + plan['Actual Rows'] * plan['Actual Loops'];
    for (const each of plan.Plans ?? []) rowsRead(each, found);
    return found;
  }

  it.each<[string, (db: Database['db']) => Promise<unknown>]>([
    ['a summary', async (db) => summarizeCostsBy(db, company.id, {}, ['day', 'agent', 'model', 'project'])],
    ['the spending of today and this month', async (db) => spending(db, { company_id: company.id })],
    ['the figures of two weeks', async (db) => dayFigures(db, company.id)],
  ])('%s reads neither events nor merged totals, however many there are', async (_, read) => {
    const statements: SQL[] = [];
    const recorder = {
      execute: async (statement: SQL) => {
        statements.push(statement);
        return Promise.resolve({ rows: [{}] });
      },
    };
    await read(recorder as unknown as Database['db']);
    expect(statements).toHaveLength(1);
    const { rows } = await database.db.execute<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      sql`explain (analyze, format json) ${statements[0]!}`,
    );
    const found = rowsRead(rows[0]!['QUERY PLAN'][0].Plan);
    expect(found.cost_events ?? 0).toBe(0);
    expect(found.cost_days ?? 0).toBe(0);
    expect(found.cost_day_sums).toBeGreaterThan(0);
  });
});
