/** Incidents with the budgets that they are about, for the pages that tell of them. */
import type { BudgetIncident } from '@acp/contract';
import { type BudgetUsage, budgetUsage, userNames } from '@acp/core';
import type { Tx } from '@acp/db';
import { incidentTitle } from './budget-words.ts';

/** With the budget as that stands now. */
export interface Incident {
  incident: BudgetIncident;
  usage: BudgetUsage;
  /** The user who ended it. */
  by: string | null;
}

/** A statement for the budgets and one for the users, however many incidents there are; none for none. */
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

/** For lists of what waits for people. */
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
