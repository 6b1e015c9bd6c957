import type { BudgetIncident } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { inArray } from 'drizzle-orm';
import { holdingIncidentIds } from '../agents/index.ts';
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
  const rows = await tx
    .select()
    .from(budget_incidents)
    .where(inArray(budget_incidents.id, holdingIncidentIds(scopesOf(of))))
    .orderBy(budget_incidents.opened_at, budget_incidents.id);
  return rows.map(presentIncident);
}
