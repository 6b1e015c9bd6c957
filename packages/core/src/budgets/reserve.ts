import { hasStatus, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { budgetWindowStart } from '../agents/index.ts';
import { openIncidents } from './open-incidents.ts';
import { scopesOfRun } from './run-scopes.ts';
import { breachWaived, dueIncident, ensureWindows } from './windows.ts';

/** A model call that is about to be made. */
interface CallAhead {
  run_id: string;
  company_id: string;
  fence: number;
  /**
   * Maximum cost of the call in USD, as decimal text; null if the adapter doesn't meter: then the median of the agent's last 20
   * runs, or 1 USD for its first.
   */
  estimate_usd: string | null;
  /** Total cost of the run's earlier calls. */
  spent_usd: string;
}

/**
 * `waiting`: there is money left, but reserved by other calls. `exceeded`: it is used up. `lost`: the run no longer belongs to
 * this process.
 */
type ReservationOutcome = 'granted' | 'waiting' | 'exceeded' | 'lost';

interface Verdict extends Record<string, unknown> {
  ours: boolean;
  complete: boolean;
  granted: boolean;
  exceeded: boolean;
  due: boolean;
}

/**
 * Settles what the run has spent so far and reserves its next call with all policies of company, project and agent, or with none:
 * spent plus reserved must be below each limit, so spending ends at the limit plus one reservation, however many calls are
 * concurrent (decisions 8.4). Policies that only notify are charged but never refuse.
 *
 * One atomic statement; the fence is locked until it is done, so a swept run leaves no reservation.
 */
export async function reserveCall(
  tx: Tx,
  call: CallAhead,
): Promise<{ outcome: ReservationOutcome; due: boolean }> {
  let verdict = await reserve(tx, call);
  for (let again = 0; verdict.ours && !verdict.complete && again < 3; again += 1) {
    await ensureWindows(tx, policiesOfRun(call.run_id), call.run_id);
    verdict = await reserve(tx, call);
  }
  const { ours, granted, exceeded, due } = verdict;
  if (!ours) return { outcome: 'lost', due: false };
  return { outcome: granted ? 'granted' : exceeded ? 'exceeded' : 'waiting', due };
}

/** Opens the incidents that a reservation found to be due. Needs a transaction of its own. */
export async function reportSpending(tx: Tx, run_id: string): Promise<void> {
  await openIncidents(tx, policiesOfRun(run_id));
}

const policiesOfRun = (run_id: string) => sql`exists (select from heartbeat_runs r
  where r.id = ${run_id} and p.company_id = r.company_id and p.enabled and p.scope_id = any(${scopesOfRun('r')}))`;

const lastRuns = sql`(select cost_usd from heartbeat_runs x
  where x.agent_id = run.agent_id and x.status = 'succeeded' order by x.created_at desc nulls last, x.id desc nulls last limit 20)`;

async function reserve(tx: Tx, call: CallAhead): Promise<Verdict> {
  const { rows } = await tx.execute<Verdict>(sql`
    with run as materialized (
      select r.id, r.company_id, r.agent_id, r.issue_id
      from heartbeat_runs r
      where r.id = ${call.run_id} and r.fence = ${call.fence} and ${hasStatus('running')} for no key update
    ), policy as materialized (
      select p.id, p.limit_usd, p.warn_percent, p.action, ${budgetWindowStart} as window_start, ${breachWaived} as waived
      from budget_policies p, run
      where p.company_id = run.company_id and p.enabled and p.scope_id = any(${scopesOfRun('run')})
      order by p.id for key share of p
    ), held as materialized (
      select policy.*, w.spent_usd, w.reserved_usd
      from policy join budget_windows w on w.policy_id = policy.id and w.window_start = policy.window_start
      order by policy.id for update of w
    ), estimate as materialized (
      select coalesce(${call.estimate_usd}::numeric,
        (select percentile_disc(0.5) within group (order by cost_usd) from ${lastRuns} last), 1) as usd from run
    ), due as materialized (
      select held.*, coalesce(mine.amount, 0) as returned,
        greatest(0, ${call.spent_usd}::numeric - coalesce(mine.settled, 0)) as charge
      from held left join (
        select b.policy_id, sum(b.settled_usd) as settled, sum(b.amount_usd) filter (where b.window_start = policy.window_start) as amount
        from budget_reservations b join policy on policy.id = b.policy_id where b.run_id = ${call.run_id} group by b.policy_id
      ) mine on mine.policy_id = held.id
    ), verdict as materialized (
      select count(*) = (select count(*) from policy) as complete,
        coalesce(bool_and(action <> 'pause' or waived
          or spent_usd + charge + reserved_usd - returned < limit_usd), true) as granted,
        coalesce(bool_or(action = 'pause' and not waived and spent_usd + charge >= limit_usd), false) as exceeded
      from due
    ), charged as (
      update budget_windows w set spent_usd = w.spent_usd + due.charge,
        reserved_usd = greatest(0, w.reserved_usd - due.returned + case when verdict.granted then estimate.usd else 0 end)
      from due, verdict, estimate
      where verdict.complete and w.policy_id = due.id and w.window_start = due.window_start
    ), kept as (
      insert into budget_reservations as b (policy_id, run_id, window_start, amount_usd, settled_usd)
      select due.id, ${call.run_id}, due.window_start, case when verdict.granted then estimate.usd else 0 end, due.charge
      from due, verdict, estimate where verdict.complete
      on conflict (run_id, policy_id, window_start) do update
      set amount_usd = excluded.amount_usd, settled_usd = b.settled_usd + excluded.settled_usd
    )
    select exists (select from run) as ours, complete, granted, exceeded, exists (
      select from due p where ${dueIncident(sql`(p.spent_usd + p.charge)`, sql`p.window_start`)} is not null) as due
    from verdict`);
  return rows[0] ?? { ours: false, complete: true, granted: false, exceeded: false, due: false };
}
