import type { AgentFigures, DayFigures } from '@acp/contract';
import { completeFrom, startOfDay, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { spendingSince } from '../budgets/index.ts';
import { notTrashed } from '../issues/index.ts';

/** Number of days in a chart, including today. */
const DAYS = 14;
/** Number of an agent's newest runs that are evaluated: a fixed number, so that the cost does not grow with its age. */
const NEWEST = 20;

/** Results per day in UTC, oldest first; days without any are zeros. */
export async function dayFigures(tx: Tx, company_id: string): Promise<DayFigures[]> {
  const first = sql`(select min(day) from days)`;
  const counted = sql`greatest(${first}, ${completeFrom('run_days')})`;
  const rowsOfRun = sql`select (r.created_at at time zone 'UTC')::date as day, 1 as runs, (r.status = 'succeeded')::int as succeeded,
    (r.status = 'failed')::int as failed from heartbeat_runs r where r.company_id = ${company_id}`;
  const { rows } = await tx.execute<DayFigures & Record<string, unknown>>(sql`
    with days as (
      select generate_series(today - ${DAYS - 1}::int, today, '1 day')::date as day from (select (now() at time zone 'UTC')::date as today) t
    ), runs as (
      select day, sum(runs) as runs, sum(succeeded) as succeeded, sum(failed) as failed from (
        select d.day, d.runs, d.succeeded, d.failed from run_days d
        where d.company_id = ${company_id} and d.day >= ${counted}
        union all ${rowsOfRun} and r.status = 'queued' and r.created_at >= ${startOfDay(counted)}
        union all ${rowsOfRun} and r.status = 'running' and r.created_at >= ${startOfDay(counted)}
        union all ${rowsOfRun} and r.created_at >= ${startOfDay(first)} and r.created_at < ${startOfDay(counted)}
      ) r group by 1
    ), ended as (
      select (i.updated_at at time zone 'UTC')::date as day, count(*) as done
      from issues i
      where i.company_id = ${company_id} and i.deleted_at is null and i.status = 'done' and i.updated_at >= ${startOfDay(first)}
      group by 1
    ), spent as (
      select s.day, sum(s.cost_usd) as cost_usd from (${spendingSince({ company_id }, first)}) s group by 1
    )
    select to_char(days.day, 'YYYY-MM-DD') as day, coalesce(runs, 0)::int as runs, coalesce(succeeded, 0)::int as succeeded,
      coalesce(failed, 0)::int as failed, coalesce(done, 0)::int as issues_done, coalesce(cost_usd, 0)::float8 as cost_usd
    from days left join runs using (day) left join ended using (day) left join spent using (day) order by days.day`);
  return rows;
}

interface AgentRow extends Record<string, unknown> {
  agent_id: string;
  last_run_id: string | null;
  last_run_at: string | null;
  /** Of the newest runs, newest first; null without any. */
  statuses: AgentFigures['runs'][number]['status'][] | null;
  costs: number[] | null;
  current_id: string | null;
  identifier: string | null;
  title: string | null;
}

/** Maximum per company, oldest first. */
const MOST_AGENTS = 1000;

/** Results of each agent, or of one, over its newest runs. Runs that are private to a person count, but name no issue. */
export async function agentFigures(
  tx: Tx,
  company_id: string,
  agent_id: string | null = null,
): Promise<AgentFigures[]> {
  // The aggregates read the runs in the order of their index: sorting each, or building an object of each run, takes longer than reading them.
  const { rows } = await tx.execute<AgentRow>(sql`
    select a.id as agent_id, newest.last_run_id, newest.last_run_at, newest.statuses, newest.costs, i.id as current_id, i.identifier, i.title
    from agents a
    cross join lateral (
      select (array_agg(r.id))[1] as last_run_id, max(r.created_at) as last_run_at, json_agg(r.status) as statuses, json_agg(r.cost_usd) as costs,
        (array_agg(r.issue_id) filter (where r.status = 'running' and r.private_to_user_id is null))[1] as issue_id
      from (
        select r.* from heartbeat_runs r where r.agent_id = a.id
        order by r.created_at desc nulls last, r.id desc nulls last limit ${NEWEST}
      ) r
    ) newest
    left join issues i on i.id = newest.issue_id and ${notTrashed('i')}
    where a.company_id = ${company_id} and a.deleted_at is null
      ${agent_id === null ? sql`` : sql`and a.id = ${agent_id}`}
    order by a.created_at, a.id limit ${MOST_AGENTS}`);
  return rows.map(presentFigures);
}

function presentFigures({ statuses, costs, last_run_at, ...row }: AgentRow): AgentFigures {
  const { current_id, identifier, title } = row;
  const runs = (statuses ?? []).map((status, place) => ({ status, cost_usd: costs![place]! }));
  const succeeded = runs.filter(({ status }) => status === 'succeeded').length;
  const failed = runs.filter(({ status }) => status === 'failed').length;
  return {
    agent_id: row.agent_id,
    last_run_id: row.last_run_id,
    last_run_at: last_run_at === null ? null : new Date(last_run_at),
    last_status: runs[0]?.status ?? null,
    ended: succeeded + failed,
    succeeded,
    runs: runs.toReversed(),
    current_issue:
      current_id === null || identifier === null || title === null
        ? null
        : { id: current_id, identifier, title },
  };
}
