/** Owns `cost_events`: what runs and outside reports spent. Money is decimal text or numeric, never a float. */
export { parsePricing, priceOf } from './pricing.ts';
export type { TokenUsage } from './pricing.ts';
