import type { Body } from './body.ts';

export interface WebhookRequest {
  path: string;
  /** Lower-case names. `Authorization` and `Cookie` are removed: verifying the sender is up to the plugin. */
  headers: Readonly<Record<string, string>>;
  body: Body;
}
