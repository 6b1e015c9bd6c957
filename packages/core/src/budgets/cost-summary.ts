import type { CostSummary, CostSummaryQuery } from '@acp/contract';
import type { Tx } from '@acp/db';
import { invalid, isTimestamp, said } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { type CostScope, spendingBetween, spendingSince } from './cost-days.ts';

type GroupBy = NonNullable<CostSummaryQuery['group_by']>;

/** Grouping criteria: the stored expression, and how a group's key and label are shown. */
const groupings: Readonly<Record<GroupBy, { of: SQL; key: SQL; label: SQL }>> = {
  agent: {
    of: sql`s.agent_id`,
    key: sql`part.agent::text`,
    label: sql`(select a.name from agents a where a.id = part.agent)`,
  },
  project: {
    of: sql`s.project_id`,
    key: sql`part.project::text`,
    label: sql`(select p.name from projects p where p.id = part.project)`,
  },
  model: { of: sql`s.model`, key: sql`part.model`, label: sql`part.model` },
  day: {
    of: sql`s.day`,
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
  const list = (part: (group: GroupBy, index: number) => SQL) => sql.join(groups.map(part), sql`, `);
  const name = (group: GroupBy) => sql.raw(group);
  const ofGroup = (part: (group: GroupBy) => SQL) =>
    sql`case part.grouped ${sql.join(
      groups.map((group, index) => sql`when ${sql.raw(String(index))} then ${part(group)}`),
      sql` `,
    )} end`;
  const days = groups.includes('day') ? sql`part.day` : sql`null::date`;
  const { rows } = await tx.execute<Row>(sql`
    select grouped, ${ofGroup((group) => groupings[group].key)} as key, ${ofGroup((group) => groupings[group].label)} as label,
      cost_usd, estimated_usd, input_tokens, output_tokens, runs, sum(cost_usd) over (partition by grouped) as total_usd
    from (
      select ${sql.join(
        groups.map((group, index) => sql`(1 - grouping(${name(group)})) * ${sql.raw(String(index))}`),
        sql` + `,
      )} as grouped, ${list(name)},
        sum(cost_usd) as cost_usd, sum(estimated_usd) as estimated_usd, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
        sum(runs)::int as runs
      from (
        select ${list((group) => sql`${groupings[group].of} as ${name(group)}`)}, s.cost_usd, s.estimated_usd,
          s.input_tokens, s.output_tokens, s.runs
        from (${spendingBetween({ company_id }, instant(from, 'from'), instant(to, 'to'))}) s
      ) spent group by grouping sets (${list((group) => sql`(${name(group)})`)})
    ) part order by grouped, ${days}, cost_usd desc, key`);
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
