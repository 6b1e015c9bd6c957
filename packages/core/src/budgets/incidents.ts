import {
  type Actor,
  type BudgetIncident,
  budgetIncidentStatuses,
  type ResolveBudgetIncident,
} from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { conflict, invalid, said, stated } from '@acp/kernel';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { findInLiveCompany } from '../companies/index.ts';
import { openIncidents, resolvedChange, resolveUntrue, settleLater } from './open-incidents.ts';
import { money } from './policies.ts';
import { type IncidentRow, presentIncident } from './present.ts';

const { budget_incidents, budget_policies } = schema;

export async function findBudgetIncident(tx: Tx, id: string): Promise<IncidentRow | undefined> {
  return findInLiveCompany(tx, budget_incidents, id);
}

/** Newest first. @throws invalid for an unknown status or an invalid cursor */
export async function listBudgetIncidents(
  tx: Tx,
  company_id: string,
  filter: PageRequest & { status?: string } = {},
): Promise<Page<BudgetIncident>> {
  const statuses = filter.status?.split(',').map((status) => status.trim());
  const unknown = statuses?.find((status) => !budgetIncidentStatuses.some((known) => known === status));
  if (unknown !== undefined) throw invalid(said`unknown status: ${unknown}`);
  const plan = newestFirst(budget_incidents.opened_at, budget_incidents.id, filter, 50);
  const rows = tx
    .select()
    .from(budget_incidents)
    .where(
      and(
        eq(budget_incidents.company_id, company_id),
        statuses === undefined ? undefined : inArray(budget_incidents.status, statuses),
        plan.where,
      ),
    )
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.read(tx, rows, ({ opened_at, id }) => ({ at: opened_at, id }), presentIncident);
}

/**
 * With `limit_usd`, raises the policy's limit; without it, waives the incident until the window rolls over (decisions 7.16). If
 * the new limit is already spent, a new breach is opened immediately; a warning about the earlier limit is resolved too.
 * @throws conflict if it is already resolved; invalid for a limit that is not higher than the policy's
 */
export async function resolveBudgetIncident(
  tx: Tx,
  actor: Actor,
  incident: IncidentRow,
  input: ResolveBudgetIncident = {},
): Promise<BudgetIncident> {
  const [policy] = await tx
    .select({ limit_usd: budget_policies.limit_usd })
    .from(budget_policies)
    .where(eq(budget_policies.id, incident.policy_id))
    .for('no key update');
  const raised = input.limit_usd;
  const [row] = await tx
    .update(budget_incidents)
    .set({
      status: 'resolved',
      resolved_at: sql`now()`,
      resolved_by_user_id: actor.kind === 'user' ? actor.user_id : null,
      waived: raised === undefined,
      note: input.note ?? null,
    })
    .where(and(eq(budget_incidents.id, incident.id), eq(budget_incidents.status, 'open')))
    .returning();
  if (row === undefined || policy === undefined) throw conflict('incident is already resolved');
  if (raised !== undefined) {
    if (raised <= Number(policy.limit_usd)) throw invalid('limit_usd must be above the current limit');
    await tx
      .update(budget_policies)
      .set({ limit_usd: money(raised), updated_at: sql`now()` })
      .where(eq(budget_policies.id, incident.policy_id));
    const this_policy = sql`p.id = ${incident.policy_id}`;
    await resolveUntrue(tx, actor, this_policy, stated('the limit was raised'));
    await openIncidents(tx, this_policy);
  }
  await settleLater(tx, [row]);
  await recordChanges(tx, actor, [resolvedChange(row)]);
  return presentIncident(row);
}
