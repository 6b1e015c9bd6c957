import type { Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { budgetWindowStart } from '../agents/index.ts';

/**
 * Creates the missing current windows of policies `p`, each with what was spent in it before. Callers charge their own amounts
 * afterwards, under the window's lock: a window starts with the spending committed by then, so nothing is counted twice or lost.
 * @param which condition on the policy `p`
 * @param charging the run whose cost event already exists and whose cost the caller is about to charge
 */
export async function ensureWindows(tx: Tx, which: SQL, charging: string | null = null): Promise<void> {
  const spent = (towards: SQL) => sql`(select sum(e.cost_usd) from cost_events e
    where e.company_id = p.company_id and e.occurred_at >= ${budgetWindowStart} and ${towards}
      and (e.run_id is null or e.run_id is distinct from ${charging}::uuid))`;
  await tx.execute(sql`
    with p as materialized (
      select * from budget_policies p where ${which} order by p.id for key share
    )
    insert into budget_windows (policy_id, window_start, spent_usd)
    select p.id, ${budgetWindowStart}, coalesce(case p.scope_type
      when 'project' then ${spent(sql`e.project_id = p.scope_id`)}
      when 'agent' then ${spent(sql`(e.agent_id = p.scope_id or p.scope_id = any(e.rolled_up_to))`)}
      else ${spent(sql`true`)} end, 0)
    from p order by p.id on conflict do nothing`);
}

/**
 * Makes the policy count from scratch: its next window starts with what the cost events say, and live runs are charged there with
 * everything they spend, as for a new policy. The caller has locked the policy's row.
 */
export async function deleteOldWindows(tx: Tx, policy_id: string): Promise<void> {
  await tx.execute(sql`delete from budget_windows where policy_id = ${policy_id}`);
  await tx.execute(sql`delete from budget_reservations where policy_id = ${policy_id}`);
}

/**
 * The kind of incident that `spent` makes due for policy `p` in the window starting at `start`; null for none, and for one that is
 * open, was waived or (a warning) was already issued for this window and limit.
 */
export function dueIncident(spent: SQL, start: SQL): SQL {
  const known = (kind: SQL) => sql`exists (select from budget_incidents i
    where i.policy_id = p.id and i.kind = ${kind} and i.window_start = ${start} and i.limit_usd = p.limit_usd
      and (i.status = 'open' or i.waived or i.kind = 'warning'))`;
  return sql`(case
    when ${spent} >= p.limit_usd then case when not ${known(sql`'breach'`)} then 'breach' end
    when ${spent} >= p.limit_usd * p.warn_percent / 100 then case when not ${known(sql`'warning'`)} then 'warning' end
  end)`;
}

/** Whether a person has allowed this window of policy `p` to exceed its current limit. */
export const breachWaived = sql`exists (select from budget_incidents i where i.policy_id = p.id and i.kind = 'breach'
  and i.waived and i.window_start = ${budgetWindowStart} and i.limit_usd = p.limit_usd)`;
