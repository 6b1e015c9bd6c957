import type { CostSummary, CostSummaryQuery } from '@acp/contract';
import type { Tx } from '@acp/db';
import { invalid, isTimestamp } from '@acp/kernel';
import { sql } from 'drizzle-orm';

const groupings = {
  agent: {
    key: sql`e.agent_id::text`,
    label: sql`(select a.name from agents a where a.id = max(e.agent_id::text)::uuid)`,
  },
  project: {
    key: sql`e.project_id::text`,
    label: sql`(select p.name from projects p where p.id = max(e.project_id::text)::uuid)`,
  },
  model: { key: sql`e.model`, label: sql`max(e.model)` },
  day: {
    key: sql`to_char(e.occurred_at at time zone 'UTC', 'YYYY-MM-DD')`,
    label: sql`to_char(max(e.occurred_at) at time zone 'UTC', 'YYYY-MM-DD')`,
  },
};

interface Row extends Record<string, unknown> {
  key: string | null;
  label: string | null;
  cost_usd: string;
  input_tokens: string;
  output_tokens: string;
  runs: number;
  total_usd: string;
}

/**
 * Sums in one statement: `from` inclusive, `to` exclusive. Days in their order, everything else the costliest first.
 * @throws invalid for malformed instants
 */
export async function summarizeCosts(
  tx: Tx,
  company_id: string,
  { from, to, group_by = 'agent' }: CostSummaryQuery,
): Promise<CostSummary> {
  const { key, label } = groupings[group_by];
  const order = group_by === 'day' ? sql`key` : sql`cost_usd desc, key`;
  const { rows } = await tx.execute<Row>(sql`
    select *, sum(cost_usd) over () as total_usd from (
      select ${key} as key, ${label} as label, sum(e.cost_usd) as cost_usd, sum(e.input_tokens) as input_tokens,
        sum(e.output_tokens) as output_tokens, count(distinct e.run_id)::int as runs
      from cost_events e
      where e.company_id = ${company_id}
        and e.occurred_at >= coalesce(${instant(from, 'from')}::timestamptz, '-infinity')
        and e.occurred_at < coalesce(${instant(to, 'to')}::timestamptz, 'infinity')
      group by 1
    ) part order by ${order}`);
  return {
    total_usd: Number(rows[0]?.total_usd ?? 0),
    groups: rows.map((row) => ({
      key: row.key,
      label: row.label,
      cost_usd: Number(row.cost_usd),
      input_tokens: Number(row.input_tokens),
      output_tokens: Number(row.output_tokens),
      runs: row.runs,
    })),
  };
}

/** What an agent has cost today and in this month (UTC): one statement over its own index. */
export async function spendOfAgent(
  tx: Tx,
  agent_id: string,
): Promise<{ today_usd: number; month_usd: number }> {
  const since = (window: 'day' | 'month') =>
    sql`date_trunc(${sql.raw(`'${window}'`)}, now() at time zone 'UTC') at time zone 'UTC'`;
  const { rows } = await tx.execute<{ today_usd: string; month_usd: string }>(sql`
    select coalesce(sum(e.cost_usd) filter (where e.occurred_at >= ${since('day')}), 0) as today_usd,
      coalesce(sum(e.cost_usd), 0) as month_usd
    from cost_events e where e.agent_id = ${agent_id} and e.occurred_at >= ${since('month')}`);
  return { today_usd: Number(rows[0]?.today_usd), month_usd: Number(rows[0]?.month_usd) };
}

/** An instant, or a day: its beginning in UTC. */
function instant(text: string | undefined, name: string): string | null {
  if (text === undefined) return null;
  const value = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text;
  if (!isTimestamp(value)) throw invalid(`${name} must be an instant or a day`);
  return value;
}
