import { fixedForms, type Tx, wakeableAgentStatuses } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { budgetHeld } from '../agents/index.ts';
import { readOnlyInstance } from '../settings/index.ts';
import { scopesOfRun } from '../budgets/index.ts';
import { knownKinds } from './run-kinds.ts';

/** `waiting_run_id` without agents: all candidates were being claimed or ended at that moment; this is one of them. */
export interface Picked {
  /** In the order in which their runs are to begin. */
  agent_ids: string[];
  waiting_run_id: string | null;
  /** How many runs of one company may run at once (decisions 7.7); null: as many as there are. */
  company_limit: number | null;
}

interface PickOptions {
  /** For the best candidate's agent, instead of passing over the locked ones. */
  wait: boolean;
  /** Agents at once. */
  most: number;
}

// Oldest runs looked at per company: where the agent of the first is being claimed by another scheduler at this
// moment, the next ones give this one something to do.
const SPARE = 3;

/**
 * The agents of the fairest runs that may start, their rows locked: of the companies with the fewest running runs, oldest
 * first, those that are picked along counted; agents at their limit, held back (by people or a budget) or in the trash, companies in the trash or
 * at their limit, and the emergency stop are passed over. Where companies have a limit, one agent at a time. What is running fits into the
 * schedulers' pools, so the sums over it are small; companies with something queued are found by skipping through the index, not by reading the queue.
 *
 * The answer is a proposal: its snapshot may be older than the locks. The claim looks again under them.
 */
export async function pickRuns(tx: Tx, options: PickOptions): Promise<Picked> {
  const form = `${options.most}${options.wait ? ' waiting' : ''}`;
  const rows = (await picks(tx, form, {}, () => pickStatement(options))) as unknown as {
    agent_id: string | null;
    waiting_run_id: string | null;
    company_limit: number | null;
  }[];
  const agent_ids = rows.flatMap(({ agent_id }) => agent_id ?? []);
  const { waiting_run_id, company_limit } = rows[0] ?? { waiting_run_id: null, company_limit: null };
  return { agent_ids, waiting_run_id, company_limit };
}

const picks = fixedForms([]);

export function pickStatement({ wait, most }: PickOptions): SQL {
  // Not as parameters: the plan depends on them, and there are two.
  const [spare, places] = [sql.raw(String(SPARE + most)), sql.raw(String(most))];
  return sql`
    with recursive tenant as (
      (select r.company_id from heartbeat_runs r where r.status = 'queued' order by r.company_id limit 1)
      union all
      select (select r.company_id from heartbeat_runs r
        where r.status = 'queued' and r.company_id > tenant.company_id order by r.company_id limit 1)
      from tenant where tenant.company_id is not null
    ), running as materialized (
      select company_id, agent_id from heartbeat_runs where status = 'running'
    ), full_agent as materialized (
      select a.id from (select agent_id, count(*) as runs from running group by agent_id) busy
      join agents a on a.id = busy.agent_id where busy.runs >= a.max_concurrent_runs
    ), setting as materialized (
      select coalesce(bool_or(key = 'runs_paused' and value = 'true'), false) or ${readOnlyInstance} as paused,
        min(case when key = 'company_max_concurrent_runs' then (value #>> '{}')::int end) as company_limit
      from instance_settings where key in ('runs_paused', 'company_max_concurrent_runs')
    ), load as (
      select tenant.company_id, coalesce(busy.runs, 0) as runs
      from tenant
      join companies c on c.id = tenant.company_id and c.deleted_at is null
      left join (select company_id, count(*) as runs from running group by company_id) busy
        on busy.company_id = tenant.company_id
      cross join setting
      where not setting.paused and (setting.company_limit is null or coalesce(busy.runs, 0) < setting.company_limit)
        and not ${budgetHeld(sql`tenant.company_id`)}
    ), candidate as materialized (
      select q.id, q.agent_id, q.company_id, load.runs, q.created_at
      from load cross join lateral (
        select r.id, r.agent_id, r.company_id, r.created_at
        from heartbeat_runs r join agents a on a.id = r.agent_id
        where r.company_id = load.company_id and r.status = 'queued' and r.kind in (${knownKinds()}) and a.deleted_at is null
          and a.status in ${wakeableAgentStatuses} and r.agent_id not in (select id from full_agent)
          and not ${budgetHeld(scopesOfRun('r'))}
        order by r.created_at, r.id limit ${spare}
      ) q
    )${most === 1 ? sql`` : inTurn}
    select picked.agent_id, (select id from candidate limit 1) as waiting_run_id, (select company_limit from setting) as company_limit
    from (select) as one left join (
      select c.agent_id from ${most === 1 ? sql`candidate` : sql`turn`} c join agents a on a.id = c.agent_id
      order by c.runs, c.created_at, c.id
      limit case when (select company_limit from setting) is null then ${places} else 1 end
      for no key update of a ${wait ? sql`` : sql`skip locked`}
    ) picked on true`;
}

/** Each agent once, and a company's second as if its first were running already. */
const inTurn = sql`, turn as materialized (
      select id, agent_id, created_at, runs + row_number() over (partition by company_id order by created_at, id) as runs
      from (select distinct on (agent_id) * from candidate order by agent_id, created_at, id) oldest
    )`;
