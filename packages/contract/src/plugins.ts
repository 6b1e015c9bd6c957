/** Plugins: external programs approved by an admin (specification, Plugin). The process protocol is in plugin-protocol.ts. */
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

/** Capabilities that every plugin has. */
export const defaultCapabilities = ['http_fetch', 'log'] as const;

/** A host service, or a named secret: `secret:API_TOKEN` (decisions 10.13). */
export const HostCapability = Type.String({
  maxLength: 200,
  pattern: '^(http_fetch|log|kv|issues\\.read|issues\\.comment|metrics|secret:[A-Z][A-Z0-9_]*)$',
});
const HostCapabilities = Type.Array(HostCapability, { maxItems: 50, uniqueItems: true });

/** How its process is isolated from the rest of the machine. */
export const pluginSandboxes = ['container', 'bubblewrap', 'bare'] as const;
export type PluginSandbox = (typeof pluginSandboxes)[number];

/** A limit on a process, and what actually enforces it where it runs. */
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
  /** The expected SHA-256 in hex; approving a file with another hash is refused. */
  binary_hash: Nullable(Type.String()),
  /** Passed to the plugin on init, with `${secret:NAME}` replaced at that time. */
  config: Nullable(JsonObject),
  enabled: Type.Boolean(),
  state: OneOf(pluginStates),
  approval_state: OneOf(pluginApprovalStates),
  approved_binary_hash: Nullable(Type.String()),
  host_capabilities: Type.Array(Type.String()),
  /** Why it is `errored`, including the end of its stderr; null otherwise. */
  error: Nullable(Type.String()),
  /** Of the current or most recent process; null before the first. */
  sandbox: Nullable(OneOf(pluginSandboxes)),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Plugin = Static<typeof Plugin>;

/** The projection used in events and instance lists. */
export const PluginSummary = Type.Omit(Plugin, ['config', 'description']);
export type PluginSummary = Static<typeof PluginSummary>;

const slug = Type.String({ maxLength: 64, pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$' });
const version = Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000]+$' });
/** An absolute path on the machines that run schedulers. */
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

/** The plugin's answer; a failed call is 409 with its message. */
export const PluginToolResult = Type.Object({
  plugin_id: Uuid,
  tool: Type.String(),
  result: Type.Unknown(),
});
export type PluginToolResult = Static<typeof PluginToolResult>;

export const PluginHealth = Type.Object({
  status: OneOf(['running', 'not_running']),
  state: OneOf(pluginStates),
  /** Whether it answered its last health check; null while it is not running and before the first check. */
  healthy: Nullable(Type.Boolean()),
  last_checked_at: Nullable(Timestamp),
  started_at: Nullable(Timestamp),
  sandbox: Nullable(OneOf(pluginSandboxes)),
  /** What enforces the process's limits; null while it is not running. */
  bounds: Nullable(Type.Array(PluginBound)),
  /** Crashes within five minutes; after the third it stays down. */
  recent_crashes: Type.Integer(),
  /** Time of the next automatic start; null if none is planned. */
  next_start_at: Nullable(Timestamp),
  error: Nullable(Type.String()),
});
export type PluginHealth = Static<typeof PluginHealth>;

export const pluginEventTypes = ['lifecycle', 'approval', 'log', 'error', 'denied'] as const;

/** An entry in the plugin's event log. */
export const PluginEvent = Type.Object({
  id: Uuid,
  plugin_id: Uuid,
  type: OneOf(pluginEventTypes),
  level: OneOf(['debug', 'info', 'warn', 'error']),
  message: Type.String(),
  /** For transitions. */
  from_state: Nullable(Type.String()),
  to_state: Nullable(Type.String()),
  details: JsonObject,
  created_at: Timestamp,
});
export type PluginEvent = Static<typeof PluginEvent>;

/** Approvals, including denied ones, and transitions; kept after the plugin is deleted. */
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
  /** Null if there is none. */
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
  /** Null for a job that is not scheduled (any more). */
  next_run_at: Nullable(Timestamp),
  /** Newest first, at most 20. */
  runs: Type.Array(PluginJobRun),
});
export type PluginJob = Static<typeof PluginJob>;

export const PluginWebhook = Type.Object({
  path: Type.String(),
  /** The path to send to, with a member's bearer key. */
  url_path: Type.String(),
});
export type PluginWebhook = Static<typeof PluginWebhook>;

export const PluginWebhookDelivered = Type.Object({ plugin_id: Uuid, status: OneOf(['delivered']) });
export type PluginWebhookDelivered = Static<typeof PluginWebhookDelivered>;
