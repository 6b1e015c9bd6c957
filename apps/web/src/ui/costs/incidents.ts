/** Incidents with their budgets, for the pages that show them. */
import type { BudgetIncident } from '@acp/contract';
import { type BudgetUsage, budgetUsage, userNames } from '@acp/core';
import type { Tx } from '@acp/db';
import { incidentTitle } from './budget-words.ts';

/** An incident with the current state of its budget. */
export interface Incident {
  incident: BudgetIncident;
  usage: BudgetUsage;
  /** The user who resolved it. */
  by: string | null;
}

/** One statement for the budgets and one for the users, regardless of the number of incidents; none if there are none. */
export async function withBudgets(
  tx: Tx,
  company_id: string,
  incidents: readonly BudgetIncident[],
): Promise<Incident[]> {
  const policy_ids = incidents.map(({ policy_id }) => policy_id);
  const usages = await budgetUsage(tx, company_id, { policy_ids });
  const byId = new Map(usages.map((usage) => [usage.policy.id, usage]));
  const names = await userNames(
    tx,
    incidents.map(({ resolved_by_user_id }) => resolved_by_user_id),
  );
  return incidents.flatMap((incident) => {
    const usage = byId.get(incident.policy_id);
    const by = names.get(incident.resolved_by_user_id ?? '') ?? null;
    return usage ? [{ incident, usage, by }] : [];
  });
}

export interface IncidentLink {
  path: string;
  title: string;
  incident: BudgetIncident;
}

/** Links to incidents, for lists of what awaits people. */
export async function incidentLinks(
  tx: Tx,
  company_id: string,
  incidents: readonly BudgetIncident[],
): Promise<IncidentLink[]> {
  const found = await withBudgets(tx, company_id, incidents);
  return found.map(({ incident, usage }) => ({
    path: `/budget-incidents/${incident.id}`,
    title: incidentTitle(incident, usage),
    incident,
  }));
}
