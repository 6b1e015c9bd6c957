import type { CostSummary, CostSummaryQuery } from '@acp/contract';
import type { Tx } from '@acp/db';
import { invalid, isTimestamp, said } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { type CostDimension, type CostScope, spendingBetween, spendingSince } from './cost-days.ts';

type GroupBy = NonNullable<CostSummaryQuery['group_by']>;

/** By what the totals are read, and how a group's key and label are shown; `named` has the names. */
const groupings: Readonly<Record<GroupBy, { by: CostDimension; key: SQL; label: SQL; named?: SQL }>> = {
  agent: { by: 'agent', key: sql`nullif(part.key, '')`, label: sql`agents.name`, named: sql`agents` },
  project: { by: 'project', key: sql`nullif(part.key, '')`, label: sql`projects.name`, named: sql`projects` },
  model: { by: 'model', key: sql`part.key`, label: sql`part.key` },
  // From the dimension with the fewest rows.
  day: {
    by: 'model',
    key: sql`to_char(part.day, 'YYYY-MM-DD')`,
    label: sql`to_char(part.day, 'YYYY-MM-DD')`,
  },
};

interface Row extends Record<string, unknown> {
  /** Index of the grouping. */
  grouped: number;
  key: string | null;
  label: string | null;
  cost_usd: string;
  estimated_usd: string;
  input_tokens: string;
  output_tokens: string;
  runs: number;
  total_usd: string;
}

/**
 * Sums in one statement: `from` inclusive, `to` exclusive. Days in order, everything else by descending cost.
 * @throws invalid for malformed timestamps
 */
export async function summarizeCosts(
  tx: Tx,
  company_id: string,
  { group_by = 'agent', ...span }: CostSummaryQuery,
): Promise<CostSummary> {
  const [summary] = await summarizeCostsBy(tx, company_id, span, [group_by]);
  return summary!;
}

/** Like `summarizeCosts` for several groupings with a single read. In the order of `groups`. */
export async function summarizeCostsBy(
  tx: Tx,
  company_id: string,
  { from, to }: Omit<CostSummaryQuery, 'group_by'>,
  groups: readonly GroupBy[],
): Promise<CostSummary[]> {
  const ofGroup = (part: (group: GroupBy) => SQL) =>
    sql`case part.grouped ${sql.join(
      groups.map((group, index) => sql`when ${sql.raw(String(index))} then ${part(group)}`),
      sql` `,
    )} end`;
  const parts = groups.map((group, index) =>
    sql.raw(`(${index}, '${groupings[group].by}', ${group === 'day'})`),
  );
  // Joined as a whole: there may be a thousand.
  const names = groups.flatMap((group) => {
    const { named } = groupings[group];
    return named === undefined
      ? []
      : sql`left join ${named} on ${named}.company_id = ${company_id} and ${named}.id::text = part.key`;
  });
  const dimensions = [...new Set(groups.map((group) => groupings[group].by))];
  const { rows } = await tx.execute<Row>(sql`
    select grouped, ${ofGroup((group) => groupings[group].key)} as key, ${ofGroup((group) => groupings[group].label)} as label,
      cost_usd, estimated_usd, input_tokens, output_tokens, runs, sum(cost_usd) over (partition by grouped) as total_usd
    from (
      select g.grouped, case when g.by_day then s.day end as day, case when not g.by_day then s.key end as key,
        sum(s.cost_usd) as cost_usd, sum(s.estimated_usd) as estimated_usd, sum(s.input_tokens) as input_tokens,
        sum(s.output_tokens) as output_tokens, sum(s.runs)::int as runs
      from (values ${sql.join(parts, sql`, `)}) g (grouped, dimension, by_day)
      join (${spendingBetween(company_id, dimensions, instant(from, 'from'), instant(to, 'to'))}) s on s.dimension = g.dimension
      group by 1, 2, 3
    ) part ${sql.join(names, sql` `)} order by grouped, part.day, cost_usd desc, key`);
  return groups.map((_, index) => {
    const own = rows.filter(({ grouped }) => grouped === index);
    return { total_usd: Number(own[0]?.total_usd ?? 0), groups: own.map(presentGroup) };
  });
}

function presentGroup({ key, label, cost_usd, estimated_usd, input_tokens, output_tokens, runs }: Row) {
  return {
    key,
    label,
    cost_usd: Number(cost_usd),
    estimated_usd: Number(estimated_usd),
    input_tokens: Number(input_tokens),
    output_tokens: Number(output_tokens),
    runs,
  };
}

/** Cost of a company or agent today and this month (UTC). */
export async function spending(tx: Tx, of: CostScope): Promise<{ today_usd: number; month_usd: number }> {
  const start = (window: 'day' | 'month') =>
    sql`date_trunc(${sql.raw(`'${window}'`)}, now() at time zone 'UTC')::date`;
  const { rows } = await tx.execute<{ today_usd: number; month_usd: number }>(sql`
    select coalesce(sum(s.cost_usd) filter (where s.day >= ${start('day')}), 0)::float8 as today_usd,
      coalesce(sum(s.cost_usd), 0)::float8 as month_usd
    from (${spendingSince(of, start('month'))}) s`);
  return rows[0]!;
}

/** A timestamp, or a day, meaning its start in UTC. */
function instant(text: string | undefined, name: string): string | null {
  if (text === undefined) return null;
  const value = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text;
  if (!isTimestamp(value)) throw invalid(said`${name} must be an instant or a day`);
  return value;
}
