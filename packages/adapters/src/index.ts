/**
 * How an agent's turn is executed: a task in, a stream of events out. No database, no run, no verb: what the events
 * mean is the scheduler's business.
 */
export { AdapterError } from './adapter-error.ts';
export type { AdapterErrorCategory, AdapterErrorDetails } from './adapter-error.ts';
export { execute } from './execute.ts';
export { probeModels } from './probe-models.ts';
export type { ModelsProbe } from './probe-models.ts';
export type { AdapterEvent, AdapterTask, ProviderFamily, ProviderSpec, UsageEvent } from './task.ts';
