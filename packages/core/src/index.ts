// Slices in their order: each imports only earlier ones, by their index.
export * from './activity/index.ts';
export * from './events/index.ts';
export * from './settings/index.ts';
export * from './identity/index.ts';
export * from './companies/index.ts';
export * from './agents/index.ts';
export * from './projects/index.ts';
export * from './goals/index.ts';
export * from './wakeups/index.ts';
export * from './issues/index.ts';
export * from './comments/index.ts';
export * from './budgets/index.ts';
export * from './runs/index.ts';
export * from './inbox/index.ts';
export * from './health/index.ts';
