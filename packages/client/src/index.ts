/** The typed client of the control plane: a single `fetch`, no dependencies; for Node.js 20 and newer, and for browsers. */
export { Client, createClient } from './client.ts';
export type { Answer, ClientOptions, Input, OperationId } from './client.ts';
export { ControlPlaneError } from './errors.ts';
export type { EventOptions, LiveEvent } from './live-events.ts';
export type * from './operations.ts';
