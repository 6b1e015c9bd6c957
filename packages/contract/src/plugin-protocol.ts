/**
 * Messages between host and plugin process (specification, Plugin process protocol): JSON lines `{type, payload}`. Input from
 * a plugin is untrusted; additional fields are allowed and ignored. Anything the specification does not name is marked
 * "beyond", and a plugin may ignore it.
 */
import { Type, type Static, type TSchema } from 'typebox';
import { EventPattern } from './event-patterns.ts';
import { JsonObject, Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';

export const PLUGIN_PROTOCOL_VERSION = 1;
/** Maximum length of a line including its end, in both directions. */
export const MAX_PLUGIN_MESSAGE_BYTES = 1_048_576;

const ToolWord = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' });
/** Segments of letters, digits, `.`, `_`, `~`, `-`, separated by slashes; one at either end does not count. */
export const PluginWebhookPath = Type.String({
  maxLength: 200,
  pattern: '^/?(?!\\.{1,2}(/|$))[\\w.~-]+(/(?!\\.{1,2}(/|$))[\\w.~-]+)*/?$',
});
/** The path as it is compared: without the slashes around it. */
export const bareWebhookPath = (path: string): string => path.replaceAll(/^\/|\/$/g, '');

export const PluginManifestTool = Type.Object({
  name: ToolWord,
  namespace: ToolWord,
  description: Type.Optional(Nullable(Type.String({ maxLength: 10_000 }))),
  /** JSON Schema (draft 2020-12) of an object; without one, any object. */
  input_schema: Type.Optional(Nullable(JsonObject)),
});
export type PluginManifestTool = Static<typeof PluginManifestTool>;

export const PluginManifestJob = Type.Object({
  name: Type.String({ pattern: '^[^\\p{C}]{1,100}$' }),
  schedule: Type.String({ minLength: 1, maxLength: 200 }),
  config: Type.Optional(Nullable(JsonObject)),
});
export type PluginManifestJob = Static<typeof PluginManifestJob>;

export const PluginManifest = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  tools: Type.Optional(Nullable(Type.Array(PluginManifestTool, { maxItems: 100 }))),
  events: Type.Optional(Nullable(Type.Array(EventPattern, { maxItems: 100 }))),
  jobs: Type.Optional(Nullable(Type.Array(PluginManifestJob, { maxItems: 50 }))),
  webhooks: Type.Optional(Nullable(Type.Array(Type.Object({ path: PluginWebhookPath }), { maxItems: 50 }))),
});
export type PluginManifest = Static<typeof PluginManifest>;

export interface CheckedTool extends PluginManifestTool {
  description: string;
  input_schema: Record<string, unknown>;
}

/** A manifest with its defaults filled in: omitted lists are empty, paths of webhooks have no outer slashes. */
export interface CheckedManifest {
  name: string;
  tools: CheckedTool[];
  events: string[];
  jobs: PluginManifestJob[];
  /** `declared`: as the plugin wrote the path, and gets it back, if that is different. */
  webhooks: { path: string; declared?: string }[];
}

const request_id = Type.String({ minLength: 1, maxLength: 200 });
/** A plugin's own ids may be numbers. */
const AnyRequestId = Type.Union([request_id, Type.Number()]);
/** A text, empty if there is none; or the form in which host services report errors. */
export const PluginError = Type.Union([
  Type.String({ maxLength: 100_000 }),
  Type.Object({ message: Type.String({ maxLength: 100_000 }), code: Type.Optional(Type.String()) }),
]);
const logLevel = OneOf(['debug', 'info', 'warn', 'error']);

export const hostMessages = {
  init: Type.Object({
    plugin_id: Uuid,
    company_id: Uuid,
    config: Nullable(JsonObject),
    host_capabilities: Type.Array(Type.String()),
    /** Beyond. */
    protocol_version: Type.Integer(),
  }),
  health_check: Type.Object({}),
  invoke_tool: Type.Object({
    /** Without the namespace. */
    tool: Type.String(),
    input: Type.Unknown(),
    request_id,
    /** Beyond: distinguishes tools of the same name. */
    namespace: Type.String(),
  }),
  trigger_event: Type.Object({
    /** `issue.created` …; `reset`: events were lost to retention, at most `data.missed` of them. */
    event_type: Type.String(),
    data: JsonObject,
    /** Beyond: identical in every delivery of an event; delivery is at least once. */
    event_id: Nullable(Uuid),
    occurred_at: Nullable(Timestamp),
  }),
  run_job: Type.Object({
    job_name: Type.String(),
    /** Beyond: the tick that is due; if several were missed, the last one. */
    scheduled_at: Timestamp,
    config: Nullable(JsonObject),
  }),
  deliver_webhook: Type.Object({
    path: Type.String(),
    /** Lower-case names, without `authorization` and `cookie`. */
    headers: Type.Record(Type.String(), Type.String()),
    /** Null if it is in `body_file`. */
    body: Nullable(Type.String()),
    body_encoding: OneOf(['utf8', 'base64']),
    /** A path from the plugin's point of view, used if the line would be too long; deleted after an hour. */
    body_file: Type.Optional(Type.String()),
  }),
  shutdown: Type.Object({}),
  /** The response to a `host_request`, with its `request_id`; either `result` or `error` is null. */
  tool_result: Type.Object({
    request_id: AnyRequestId,
    result: Type.Unknown(),
    error: Nullable(Type.Object({ code: Type.String(), message: Type.String() })),
  }),
} as const satisfies Record<string, TSchema>;

export const pluginMessages = {
  ready: Type.Object({ manifest: PluginManifest, protocol_version: Type.Optional(Type.Integer()) }),
  health_check: Type.Object({}),
  tool_result: Type.Object({
    request_id,
    result: Type.Optional(Type.Unknown()),
    error: Type.Optional(Nullable(PluginError)),
  }),
  event_handled: Type.Object({
    event_type: Type.String({ maxLength: 200 }),
    result: Type.Optional(Type.Unknown()),
  }),
  job_result: Type.Object({
    job_name: Type.String({ maxLength: 200 }),
    result: Type.Optional(Type.Unknown()),
    /** Beyond: why the job failed. */
    error: Type.Optional(Nullable(PluginError)),
  }),
  host_request: Type.Object({
    service: Type.String({ maxLength: 100 }),
    args: Type.Optional(Type.Unknown()),
    /** Without one it can't be answered. */
    request_id: Nullable(AnyRequestId),
  }),
  log: Type.Object({ level: logLevel, message: Type.String() }),
  error: Type.Object({
    message: Type.String(),
    code: Type.Optional(Nullable(Type.Union([Type.String(), Type.Integer()]))),
  }),
} as const satisfies Record<string, TSchema>;

type MessageOf<T extends Record<string, TSchema>> = {
  [K in keyof T]: { type: K; payload: Static<T[K]> };
}[keyof T];
export type HostMessage = MessageOf<typeof hostMessages>;
export type PluginMessage = MessageOf<typeof pluginMessages>;
export type PluginMessageType = keyof typeof pluginMessages;

/** Host services: arguments and results of a `host_request`. All except `http_fetch` and `log` are granted by name. */
const issueReference = Type.String({ minLength: 1, maxLength: 200 });
const kvKey = Type.String({ minLength: 1, maxLength: 500, pattern: '^[^\\u0000]+$' });
/** One operation; `if_version` is the version of the value being replaced, 0 for none; any other is a conflict. */
export const KvOperation = Type.Union([
  Type.Object({ op: OneOf(['get']), key: kvKey }),
  Type.Object({
    op: OneOf(['set']),
    key: kvKey,
    value: Type.Unknown(),
    if_version: Type.Optional(Type.Integer()),
  }),
  Type.Object({ op: OneOf(['delete']), key: kvKey, if_version: Type.Optional(Type.Integer()) }),
  Type.Object({
    op: OneOf(['list']),
    prefix: Type.Optional(Type.String({ maxLength: 500, pattern: '^[^\\u0000]*$' })),
    after: Type.Optional(kvKey),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  }),
]);
export type KvOperation = Static<typeof KvOperation>;

export const hostServices = {
  http_fetch: {
    args: Type.Object({
      url: Type.String({ minLength: 1, maxLength: 8000 }),
      method: Type.Optional(OneOf(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])),
      headers: Type.Optional(Nullable(Type.Record(Type.String({ maxLength: 200 }), Type.String()))),
      body: Type.Optional(Nullable(Type.String())),
    }),
    result: Type.Object({
      status: Type.Integer(),
      headers: Type.Record(Type.String(), Type.String()),
      /** Null if it is in `body_file` because the line would be too long. */
      body: Nullable(Type.String()),
      truncated: Type.Boolean(),
      /** Beyond. */
      body_encoding: OneOf(['utf8', 'base64']),
      body_file: Type.Optional(Type.String()),
    }),
  },
  log: { args: Type.Object({ level: logLevel, message: Type.String() }), result: Type.Null() },
  /** All operations in one transaction: all take effect, or none. */
  kv: {
    args: Type.Object({ ops: Type.Array(KvOperation, { minItems: 1, maxItems: 100 }) }),
    /** One result each: `{value, version}` (null and 0 if there is none), or `{keys, more}` for a list. */
    result: Type.Object({ results: Type.Array(JsonObject) }),
  },
  secret: {
    args: Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }) }),
    result: Type.Object({ value: Type.String() }),
  },
  /** One issue, by id or identifier, with its latest comments; or a page of issues. */
  'issues.read': {
    args: Type.Object({
      issue: Type.Optional(issueReference),
      status: Type.Optional(Type.String({ maxLength: 200 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50 })),
      cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
    }),
    /** `{issue, comments}` or `{issues, next_cursor}`. */
    result: JsonObject,
  },
  'issues.comment': {
    args: Type.Object({
      issue: issueReference,
      body_markdown: Type.String({
        minLength: 1,
        maxLength: 100_000,
        pattern: '^[^\\u0000]*\\S[^\\u0000]*$',
      }),
    }),
    result: Type.Object({ comment_id: Uuid }),
  },
  metrics: {
    args: Type.Object({
      name: Type.String({ pattern: '^[a-z][a-z0-9_]{0,60}$' }),
      kind: OneOf(['counter', 'gauge']),
      value: Type.Number(),
    }),
    result: Type.Null(),
  },
} as const satisfies Record<string, { args: TSchema; result: TSchema }>;
export type HostService = keyof typeof hostServices;
