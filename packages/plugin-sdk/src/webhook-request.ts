import type { Body } from './body.ts';

export interface WebhookRequest {
  path: string;
  /** Names in lower case. `Authorization` and `Cookie` never get here: who sent it is for the plugin to check. */
  headers: Readonly<Record<string, string>>;
  body: Body;
}
