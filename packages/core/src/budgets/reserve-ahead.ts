import { BUDGET_EXCEEDED, budgetWindowStart } from '../agents/index.ts';
import type { Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { ancestorsOf } from './run-scopes.ts';
import { breachWaived, ensureWindows } from './windows.ts';

/** Money reserved for a future run. Its first call replaces this reservation. */
export interface Hold {
  run_id: string;
  agent_id: string;
  /** USD as decimal text. */
  usd: string;
}

interface Verdict extends Record<string, unknown> {
  complete: boolean;
  /** Agents without enough left in their own budget or an ancestor's. */
  short_agents: string[];
  short: boolean;
}

/**
 * Reserves for several runs at once, with all policies of company, project and agents or with none: each `pause` policy must have
 * room for the total. `reserveCall` and the end of each run settle their parts; `releaseHolds` releases what no run will use.
 * @throws conflict if the company's or the project's budget is too small
 * @returns agents whose budgets are too small; in that case nothing was reserved
 */
export async function reserveAhead(
  tx: Tx,
  of: { company_id: string; project_id: string | null },
  holds: readonly Hold[],
): Promise<string[]> {
  let verdict = await hold(tx, of, holds);
  for (let again = 0; !verdict.complete && again < 3; again += 1) {
    await ensureWindows(tx, policiesOf(of, holds));
    verdict = await hold(tx, of, holds);
  }
  if (verdict.short) throw conflict(BUDGET_EXCEEDED);
  return verdict.short_agents;
}

const wantedRows = (holds: readonly Hold[]) => sql`(
  select h.run_id, h.agent_id, h.usd, array[h.agent_id] || ${ancestorsOf(sql`h.agent_id`)} as agents
  from jsonb_to_recordset(${JSON.stringify(holds)}::jsonb) as h(run_id uuid, agent_id uuid, usd numeric))`;

const policiesOf = (
  { company_id, project_id }: { company_id: string; project_id: string | null },
  holds: readonly Hold[],
) => sql`p.company_id = ${company_id} and p.enabled and p.scope_id = any(
  array[${company_id}::uuid, ${project_id}::uuid] || array(select unnest(w.agents) from ${wantedRows(holds)} w))`;

async function hold(
  tx: Tx,
  of: { company_id: string; project_id: string | null },
  holds: readonly Hold[],
): Promise<Verdict> {
  const { rows } = await tx.execute<Verdict>(sql`
    with policy as materialized (
      select p.id, p.scope_type, p.scope_id, p.limit_usd, p.action, ${budgetWindowStart} as window_start, ${breachWaived} as waived
      from budget_policies p where ${policiesOf(of, holds)} order by p.id for key share of p
    ), due as materialized (
      select policy.id as policy_id, policy.window_start, w.run_id, w.agent_id, w.usd
      from policy join ${wantedRows(holds)} w on policy.scope_type <> 'agent' or policy.scope_id = any(w.agents)
    ), held as materialized (
      select policy.*, w.spent_usd + w.reserved_usd + (select sum(usd) from due where due.policy_id = policy.id) as after
      from policy join budget_windows w on w.policy_id = policy.id and w.window_start = policy.window_start
      order by policy.id for update of w
    ), short as materialized (
      select id, scope_type from held where action = 'pause' and not waived and after > limit_usd
    ), verdict as materialized (
      select (select count(*) from held) = (select count(*) from policy) as complete,
        exists (select from short where scope_type <> 'agent') as short,
        coalesce((select jsonb_agg(distinct due.agent_id) from due join short on short.id = due.policy_id
          where short.scope_type = 'agent'), '[]') as short_agents
    ), granted as materialized (
      select due.* from due, verdict where verdict.complete and not exists (select from short)
    ), reserved as (
      update budget_windows w set reserved_usd = w.reserved_usd + part.usd
      from (select policy_id, window_start, sum(usd) as usd from granted group by 1, 2) part
      where w.policy_id = part.policy_id and w.window_start = part.window_start
    ), kept as (
      insert into budget_reservations (policy_id, run_id, window_start, amount_usd)
      select policy_id, run_id, window_start, usd from granted
    )
    select * from verdict`);
  return rows[0]!;
}

/** Releases reservations for runs that will not happen. */
export async function releaseHolds(tx: Tx, run_ids: readonly string[]): Promise<void> {
  if (run_ids.length === 0) return;
  await tx.execute(sql`
    with mine as materialized (
      select policy_id, window_start, sum(amount_usd) as usd from budget_reservations
      where run_id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(run_ids)}::jsonb))
      group by policy_id, window_start
    ), held as materialized (
      select w.policy_id, w.window_start, mine.usd from budget_windows w
      join mine on mine.policy_id = w.policy_id and mine.window_start = w.window_start
      order by w.policy_id, w.window_start for update of w
    ), returned as (
      update budget_windows w set reserved_usd = greatest(0, w.reserved_usd - held.usd)
      from held where w.policy_id = held.policy_id and w.window_start = held.window_start
    )
    delete from budget_reservations
    where run_id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(run_ids)}::jsonb))`);
}
