/**
 * Owns `cost_events` with their totals, `model_prices` and budgets: policies, their windows, reservations and incidents. Money is decimal text or
 * numeric, never a float. Invariants: a window contains what was settled in it plus what live runs have reserved; a call is only
 * made if the sum is below the limit of every `pause` policy of its company, project and agent; each policy has at most one open
 * incident; while a breach is open, nothing in its scope starts. Agents are paused by the job `settle-budgets`, since
 * agents are locked before policies.
 */
export { budgetUsage } from './budget-usage.ts';
export type { BudgetUsage } from './budget-usage.ts';
export { chargeCost } from './charge.ts';
export type { Spender } from './charge.ts';
export { BUDGET_CATEGORY } from './cut-off.ts';
export { insertRunCost } from './cost-events.ts';
export { spendingSince } from './cost-days.ts';
export { spending, summarizeCosts, summarizeCostsBy } from './cost-summary.ts';
export { reserveAhead, releaseHolds } from './reserve-ahead.ts';
export type { Hold } from './reserve-ahead.ts';
export { holdingIncidents } from './holding-incidents.ts';
export { findBudgetIncident, listBudgetIncidents, resolveBudgetIncident } from './incidents.ts';
export { rolloverDue } from './open-incidents.ts';
export {
  createBudgetPolicy,
  deleteBudgetPolicy,
  findBudgetPolicy,
  listBudgetPolicies,
  updateBudgetPolicy,
} from './policies.ts';
export { insertPolicies } from './insert-policies.ts';
export type { NewPolicy } from './insert-policies.ts';
export { presentIncident } from './present.ts';
export {
  companyPrices,
  deleteModelPrice,
  listModelPrices,
  findModelPrice,
  pricesColumn,
  pricesIn,
  setModelPrice,
} from './model-prices.ts';
export { defaultRates, isPriced, parsePricing, priceOf } from './pricing.ts';
export type { Prices } from './pricing.ts';
export { isCompanyOverBudget, listCostEvents, recordServiceCost, reportCost } from './report-cost.ts';
export { reportSpending, reserveCall } from './reserve.ts';
export { projectOfRun, scopesOfRun } from './run-scopes.ts';
export { rollOverBudgets, settleBudgets, sweepBudgets } from './settle-budgets.ts';
