/**
 * The kit for writing plugins (docs/plugins.md): declare what the plugin offers, and `serve` it. Depends on Node.js only.
 *
 *     serve({ name: 'Hello', tools: [tool({ … })], events: [on('issue.created', …)] });
 */
export type { FromSchema, ObjectSchema, Schema } from './from-schema.ts';
export type { PluginEvents } from './event-data.ts';
export type { HostMessages, HostServices, PluginMessages } from './protocol.ts';
export { MAX_MESSAGE_BYTES, PROTOCOL_VERSION } from './protocol.ts';
export {
  type EventOf,
  type Job,
  job,
  type JobTick,
  matches,
  on,
  type Plugin,
  type PluginContext,
  type PluginEvent,
  type Subscription,
  type Tool,
  tool,
  type Webhook,
  webhook,
} from './plugin.ts';
export { type FetchOptions, type Host, HostError, type KvList, type KvValue, type LogLevel } from './host.ts';
export { Body } from './body.ts';
export type { WebhookRequest } from './webhook-request.ts';
export { serve, type ServeOptions } from './serve.ts';
