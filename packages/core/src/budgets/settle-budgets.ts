import { type Tx, wakeableAgentStatuses } from '@acp/db';
import { stated } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import {
  budgetHeld,
  clearBudgetErrors,
  mayContinue,
  scopesOfAgent,
  settleBudgetPauses,
} from '../agents/index.ts';
import { wakeCutOff } from './cut-off.ts';
import { inLiveCompany, openIncidents, resolveUntrue, rollOver, settleLater } from './open-incidents.ts';
import { scopesOfRun } from './run-scopes.ts';

/**
 * The job `settle-budgets`: pauses and resumes the company's agents according to its current incidents, dispatches those with
 * work that was refused in the meantime, and wakes those whose work was cut off. A company's breach pauses all agents, an
 * agent's only that agent. A project has no agents: while its budget is breached, admission and claims refuse runs on its issues.
 */
export async function settleBudgets(tx: Tx, company_id: string): Promise<void> {
  const { changes, resumed } = await settleBudgetPauses(tx, { company_id });
  const { rows } = await tx.execute<{ agent_id: string }>(sql`
    select distinct work.agent_id from (
      select company_id, agent_id, issue_id from wakeup_requests
      where company_id = ${company_id} and status = 'pending' and run_id is null
      union all
      select company_id, agent_id, issue_id from heartbeat_runs where company_id = ${company_id} and status = 'queued'
    ) work
    where not ${budgetHeld(scopesOfRun('work'))}`);
  const agent_ids = new Set([...resumed, ...rows.map(({ agent_id }) => agent_id)]);
  await enqueueMany(
    tx,
    'dispatch-agent',
    [...agent_ids].map((agent_id) => ({ agent_id })),
  );
  await wakeCutOff(tx, company_id);
  const cleared = await clearBudgetErrors(tx, company_id, scopesOfRun('last'));
  await recordChanges(tx, systemActor('budgets'), [...changes, ...cleared]);
}

/** Resolves the incidents of all windows that have ended. @returns how many */
export async function rollOverBudgets(tx: Tx): Promise<number> {
  return rollOver(tx, inLiveCompany);
}

/**
 * Completes what a crash left undone: due incidents that are not open, open ones that are no longer true, agents that a breach
 * should have paused, and pauses without a breach. @returns how many companies are settled again
 */
export async function sweepBudgets(tx: Tx): Promise<number> {
  await openIncidents(tx, inLiveCompany);
  await resolveUntrue(tx, systemActor('budgets'), inLiveCompany, stated('spending is no longer there'));
  const held = budgetHeld(scopesOfAgent('a'));
  const { rows } = await tx.execute<{ company_id: string }>(sql`
    select distinct a.company_id from budget_incidents open_breach
    join agents a on a.company_id = open_breach.company_id and a.deleted_at is null
      and a.status in ${wakeableAgentStatuses}
    where open_breach.status = 'open' and open_breach.kind = 'breach' and ${held}
    union
    select a.company_id from agents a
    where a.deleted_at is null and ${mayContinue('a')}`);
  await settleLater(tx, rows);
  return rows.length;
}
