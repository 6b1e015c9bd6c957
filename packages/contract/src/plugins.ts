/** Plugins: programs beside the service, approved by an admin (specification, Plugin). The process protocol is in plugin-protocol.ts. */
import { boundHolders, boundNames } from '@acp/kernel';
import { Type, type Static } from 'typebox';
import { JsonObject, Name, Nullable, OneOf, Patch, Text, Timestamp, Uuid } from './schema-kit.ts';

export const pluginStates = [
  'installed',
  'ready',
  'running',
  'stopped',
  'errored',
  'disabled',
  'uninstalled',
] as const;
export type PluginState = (typeof pluginStates)[number];
export const pluginApprovalStates = ['pending', 'allowed', 'banned'] as const;
export type PluginApprovalState = (typeof pluginApprovalStates)[number];

/** What a plugin has without being granted it. */
export const defaultCapabilities = ['http_fetch', 'log'] as const;

/** A host service, or one named secret: `secret:API_TOKEN` (decisions 10.13). */
export const HostCapability = Type.String({
  maxLength: 200,
  pattern: '^(http_fetch|log|kv|issues\\.read|issues\\.comment|metrics|secret:[A-Z][A-Z0-9_]*)$',
});
const HostCapabilities = Type.Array(HostCapability, { maxItems: 50, uniqueItems: true });

/** How its process is kept from the rest of the machine. */
export const pluginSandboxes = ['container', 'bubblewrap', 'bare'] as const;
export type PluginSandbox = (typeof pluginSandboxes)[number];

/** One bound of a process, and what in truth holds it where it runs. */
export const PluginBound = Type.Object({
  bound: OneOf(boundNames),
  held_by: OneOf(boundHolders),
  limit: Type.String(),
});
export type PluginBound = Static<typeof PluginBound>;

export const Plugin = Type.Object({
  id: Uuid,
  company_id: Uuid,
  name: Type.String(),
  slug: Type.String(),
  description: Nullable(Type.String()),
  version: Nullable(Type.String()),
  binary_path: Nullable(Type.String()),
  /** SHA-256 in hex that whoever registered it expects; an allow of another file is refused. */
  binary_hash: Nullable(Type.String()),
  /** Given to the plugin on init, with `${secret:NAME}` replaced then. */
  config: Nullable(JsonObject),
  enabled: Type.Boolean(),
  state: OneOf(pluginStates),
  approval_state: OneOf(pluginApprovalStates),
  approved_binary_hash: Nullable(Type.String()),
  host_capabilities: Type.Array(Type.String()),
  /** Why it is `errored`, with the end of what it wrote to its stderr; null otherwise. */
  error: Nullable(Type.String()),
  /** Of the process that runs it, or ran it last; null before the first. */
  sandbox: Nullable(OneOf(pluginSandboxes)),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Plugin = Static<typeof Plugin>;

/** As events and lists of the instance carry it. */
export const PluginSummary = Type.Omit(Plugin, ['config', 'description']);
export type PluginSummary = Static<typeof PluginSummary>;

const slug = Type.String({ maxLength: 64, pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' });
const version = Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000]+$' });
/** Absolute: it is a file of the machine on which schedulers run. */
const binary_path = Type.String({ minLength: 2, maxLength: 4000, pattern: '^/[^\\u0000]+$' });
const binary_hash = Type.String({ pattern: '^[0-9a-f]{64}$' });

export const CreatePlugin = Type.Object({
  name: Name,
  slug,
  description: Type.Optional(Nullable(Text)),
  version: Type.Optional(Nullable(version)),
  binary_path: Type.Optional(Nullable(binary_path)),
  binary_hash: Type.Optional(Nullable(binary_hash)),
  config: Type.Optional(Nullable(JsonObject)),
});
export type CreatePlugin = Static<typeof CreatePlugin>;

/** `config`, `binary_path` and `host_capabilities` take effect at the next start. */
export const UpdatePlugin = Patch({
  name: Name,
  description: Nullable(Text),
  version: Nullable(version),
  binary_path: Nullable(binary_path),
  binary_hash: Nullable(binary_hash),
  config: Nullable(JsonObject),
  enabled: Type.Boolean(),
  host_capabilities: HostCapabilities,
});
export type UpdatePlugin = Static<typeof UpdatePlugin>;

/** A tool of a running plugin. */
export const PluginTool = Type.Object({
  plugin_id: Uuid,
  /** `namespace:name`. */
  tool: Type.String(),
  namespace: Type.String(),
  name: Type.String(),
  description: Type.String(),
  input_schema: JsonObject,
});
export type PluginTool = Static<typeof PluginTool>;

export const InvokePluginTool = Type.Object({
  tool: Type.String({ minLength: 1, maxLength: 200 }),
  input: Type.Optional(Type.Unknown()),
});
export type InvokePluginTool = Static<typeof InvokePluginTool>;

/** What the plugin answered; one that failed answers 409 with its message. */
export const PluginToolResult = Type.Object({
  plugin_id: Uuid,
  tool: Type.String(),
  result: Type.Unknown(),
});
export type PluginToolResult = Static<typeof PluginToolResult>;

export const PluginHealth = Type.Object({
  status: OneOf(['running', 'not_running']),
  state: OneOf(pluginStates),
  /** Answered its last health check; null while it is not running, or before the first. */
  healthy: Nullable(Type.Boolean()),
  last_checked_at: Nullable(Timestamp),
  started_at: Nullable(Timestamp),
  sandbox: Nullable(OneOf(pluginSandboxes)),
  /** What holds the process to its limits; null while it is not running. */
  bounds: Nullable(Type.Array(PluginBound)),
  /** Crashes of the last five minutes; with the third it stays down. */
  recent_crashes: Type.Integer(),
  /** When it is started again by itself; null where it is not. */
  next_start_at: Nullable(Timestamp),
  error: Nullable(Type.String()),
});
export type PluginHealth = Static<typeof PluginHealth>;

export const pluginEventTypes = ['lifecycle', 'approval', 'log', 'error', 'denied'] as const;

/** A line of the plugin's events log. */
export const PluginEvent = Type.Object({
  id: Uuid,
  plugin_id: Uuid,
  type: OneOf(pluginEventTypes),
  level: OneOf(['debug', 'info', 'warn', 'error']),
  message: Type.String(),
  /** Of transitions. */
  from_state: Nullable(Type.String()),
  to_state: Nullable(Type.String()),
  details: JsonObject,
  created_at: Timestamp,
});
export type PluginEvent = Static<typeof PluginEvent>;

/** Approvals, also those that were denied, and transitions; kept when the plugin is gone. */
export const PluginAuditEntry = Type.Object({
  id: Uuid,
  company_id: Uuid,
  plugin_id: Uuid,
  /** `plugin.allowed`, `plugin.allow_denied`, `plugin.running` … */
  action: Type.String(),
  actor_type: Type.String(),
  actor_id: Nullable(Uuid),
  actor_name: Type.String(),
  details: JsonObject,
  created_at: Timestamp,
});
export type PluginAuditEntry = Static<typeof PluginAuditEntry>;

export const pluginJobRunStatuses = ['running', 'succeeded', 'failed'] as const;
export const PluginJobRun = Type.Object({
  id: Uuid,
  scheduled_at: Timestamp,
  status: OneOf(pluginJobRunStatuses),
  /** Null where there is none. */
  result: Type.Unknown(),
  error: Nullable(Type.String()),
  started_at: Timestamp,
  finished_at: Nullable(Timestamp),
});
export type PluginJobRun = Static<typeof PluginJobRun>;

export const PluginJob = Type.Object({
  name: Type.String(),
  /** Five fields, UTC. */
  schedule: Type.String(),
  config: Nullable(JsonObject),
  /** Null while the plugin does not run. */
  next_run_at: Nullable(Timestamp),
  /** The newest first, 20 at most. */
  runs: Type.Array(PluginJobRun),
});
export type PluginJob = Static<typeof PluginJob>;

export const PluginWebhook = Type.Object({
  path: Type.String(),
  /** To send to, with a member's bearer key. */
  url_path: Type.String(),
});
export type PluginWebhook = Static<typeof PluginWebhook>;

export const PluginWebhookDelivered = Type.Object({ plugin_id: Uuid, status: OneOf(['delivered']) });
export type PluginWebhookDelivered = Static<typeof PluginWebhookDelivered>;
