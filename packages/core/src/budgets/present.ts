import type { BudgetIncident, BudgetPolicy, CostEvent } from '@acp/contract';
import type { schema } from '@acp/db';

export type PolicyRow = typeof schema.budget_policies.$inferSelect;
export type IncidentRow = typeof schema.budget_incidents.$inferSelect;
type CostEventRow = typeof schema.cost_events.$inferSelect;

export function presentPolicy(row: PolicyRow): BudgetPolicy {
  return {
    id: row.id,
    company_id: row.company_id,
    scope_type: row.scope_type as BudgetPolicy['scope_type'],
    scope_id: row.scope_id,
    window: row.window as BudgetPolicy['window'],
    limit_usd: Number(row.limit_usd),
    warn_percent: row.warn_percent,
    action: row.action as BudgetPolicy['action'],
    enabled: row.enabled,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

export function presentIncident(row: IncidentRow): BudgetIncident {
  return {
    id: row.id,
    company_id: row.company_id,
    policy_id: row.policy_id,
    kind: row.kind as BudgetIncident['kind'],
    status: row.status as BudgetIncident['status'],
    spent_usd: Number(row.spent_usd),
    limit_usd: Number(row.limit_usd),
    window_start: row.window_start,
    opened_at: row.opened_at,
    resolved_at: row.resolved_at,
    resolved_by_user_id: row.resolved_by_user_id,
    waived: row.waived,
    note: row.note,
  };
}

export function presentCostEvent(row: CostEventRow): CostEvent {
  return {
    id: row.id,
    company_id: row.company_id,
    agent_id: row.agent_id,
    run_id: row.run_id,
    issue_id: row.issue_id,
    project_id: row.project_id,
    provider: row.provider,
    model: row.model,
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    cached_tokens: row.cached_tokens,
    cost_usd: Number(row.cost_usd),
    price_estimated: row.price_estimated,
    occurred_at: row.occurred_at,
  };
}
