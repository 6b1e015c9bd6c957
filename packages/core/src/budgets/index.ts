/** Owns `cost_events`: what runs and outside reports spent. Money is decimal text or numeric, never a float. */
export { insertRunCost } from './cost-events.ts';
export type { RunCost } from './cost-events.ts';
export { parsePricing, priceOf } from './pricing.ts';
export type { TokenUsage } from './pricing.ts';
