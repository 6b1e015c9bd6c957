import type { BudgetIncident } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { inArray, sql } from 'drizzle-orm';
import { budgetWindowStart } from '../agents/index.ts';
import { presentIncident } from './present.ts';
import { scopesOf } from './run-scopes.ts';

const { budget_incidents } = schema;

/**
 * The breaches that keep an agent from working, anywhere or on a project's issues; oldest first.
 * @param of `project_id`: null if only the agent matters
 */
export async function holdingIncidents(
  tx: Tx,
  of: { company_id: string; agent_id: string; project_id: string | null },
): Promise<BudgetIncident[]> {
  const holding = sql`(select b.id from budget_policies p, budget_incidents b
    where b.policy_id = p.id and b.kind = 'breach' and b.status = 'open' and b.window_start = ${budgetWindowStart}
      and p.company_id = ${of.company_id} and p.scope_id = any(${scopesOf(of)}) and p.enabled and p.action = 'pause')`;
  const rows = await tx
    .select()
    .from(budget_incidents)
    .where(inArray(budget_incidents.id, holding))
    .orderBy(budget_incidents.opened_at, budget_incidents.id);
  return rows.map(presentIncident);
}
