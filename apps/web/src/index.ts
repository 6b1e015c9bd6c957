/** The web tier: HTTP only. It validates, persists and enqueues; it runs no agent and calls no model. */
export { startWeb } from './main.ts';
export type { RunningWeb } from './main.ts';
export { createApp } from './app.ts';
export { apiRoutes } from './api/index.ts';
export { createCredentials } from './http/credentials.ts';
export type { Credentials } from './http/credentials.ts';
