import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { budgetWindowStart } from '../agents/index.ts';
import { openIncidents } from './open-incidents.ts';
import { scopesOf } from './run-scopes.ts';
import { dueIncident, ensureWindows } from './windows.ts';

/** Identifies the budgets that a cost counts towards. */
export interface Spender {
  company_id: string;
  agent_id: string | null;
  project_id: string | null;
  /** When it was spent: windows that began later are not charged. Default: now. */
  at?: Date | null;
}

/** The policies `p` that apply to the spender. */
const policiesOf = ({ at, ...of }: Spender) =>
  sql`p.company_id = ${of.company_id} and p.enabled and p.scope_id = any(${scopesOf(of)})
    ${at ? sql`and ${budgetWindowStart} <= ${at.toISOString()}::timestamptz` : sql``}`;

/**
 * Charges a cost to the windows of its policies. For a run, which ends with this, only the part that its calls have not settled
 * is charged, and its remaining reservation is released. One statement, two more at the first use of a window; policies are
 * locked in order of id. Part of the transaction that writes the cost event: a run's event must already exist, any other event
 * must follow.
 */
export async function chargeCost(
  tx: Tx,
  spender: Spender,
  cost_usd: string,
  run_id: string | null = null,
): Promise<void> {
  let charged = await charge(tx, spender, cost_usd, run_id);
  for (let again = 0; !charged.complete && again < 3; again += 1) {
    await ensureWindows(tx, policiesOf(spender), run_id);
    charged = await charge(tx, spender, cost_usd, run_id);
  }
  if (charged.due) await openIncidents(tx, policiesOf(spender));
}

async function charge(
  tx: Tx,
  spender: Spender,
  cost_usd: string,
  run_id: string | null,
): Promise<{ complete: boolean; due: boolean }> {
  const { rows } = await tx.execute<{ complete: boolean; due: boolean }>(sql`
    with mine as materialized (
      select policy_id, window_start, amount_usd, settled_usd from budget_reservations where run_id = ${run_id}::uuid
    ), policy as materialized (
      -- Locked against deletion, which also locks a policy before its windows.
      select p.id, p.limit_usd, p.warn_percent, p.enabled, ${policiesOf(spender)} as spends, ${budgetWindowStart} as window_start
      from budget_policies p
      where p.id = any(array(
        select p.id from budget_policies p where ${policiesOf(spender)} union select policy_id from mine
      )) order by p.id for key share
    ), target as materialized (
      select policy_id, window_start, sum(charge) as charge, sum(returned) as returned from (
        select policy.id as policy_id, policy.window_start, 0 as returned,
          greatest(0, ${cost_usd}::numeric - coalesce((select sum(settled_usd) from mine where policy_id = policy.id), 0)) as charge
        from policy where policy.spends
        union all
        select mine.policy_id, mine.window_start, mine.amount_usd, 0 from mine join policy on policy.id = mine.policy_id
      ) part group by policy_id, window_start
    ), held as materialized (
      select w.policy_id, w.window_start, w.spent_usd, target.charge, target.returned
      from target join budget_windows w on w.policy_id = target.policy_id and w.window_start = target.window_start
      order by w.policy_id, w.window_start for update of w
    ), verdict as materialized (
      select (select count(*) from held) = (select count(*) from target) as complete
    ), charged as (
      update budget_windows w
      set spent_usd = w.spent_usd + held.charge, reserved_usd = greatest(0, w.reserved_usd - held.returned)
      from held, verdict
      where verdict.complete and w.policy_id = held.policy_id and w.window_start = held.window_start
    ), ended as (
      delete from budget_reservations using verdict where verdict.complete and run_id = ${run_id}::uuid
    )
    select complete, exists (
      select from held join policy p on p.id = held.policy_id and p.enabled and p.window_start = held.window_start
      where ${dueIncident(sql`(held.spent_usd + held.charge)`, sql`held.window_start`)} is not null) as due
    from verdict`);
  return rows[0] ?? { complete: true, due: false };
}
