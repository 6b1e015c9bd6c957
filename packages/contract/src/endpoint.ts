/**
 * An endpoint is a row of data. The web tier's `mount` turns rows into routes; OpenAPI, the endpoint × actor matrix
 * and the fuzz test read the same rows. See docs/adding-an-endpoint.md.
 */
import type { Static, TSchema } from 'typebox';
import type { AgentPermission } from './actor.ts';
import type { FlagName } from './settings.ts';

/** Kinds of callers that an endpoint admits. `user` is a session; "bearer" in the specification means the first three. */
export type AuthKind = 'user' | 'agent' | 'board_user' | 'worker';
export const BEARER: readonly AuthKind[] = ['user', 'agent', 'board_user'];

/** Entities whose id in a path leads to a company: each has a loader in the web tier's scope registry. */
export type ScopeEntity =
  | 'agent'
  | 'agent_key'
  | 'task_session'
  | 'issue'
  | 'run'
  | 'relation'
  | 'board_user_key'
  | 'join_request'
  | 'attachment'
  | 'work_product'
  | 'review_comment'
  | 'secret'
  | 'provider'
  | 'project'
  | 'goal'
  | 'note'
  | 'routine'
  | 'routine_trigger'
  | 'skill'
  | 'approval'
  | 'budget_policy'
  | 'budget_incident'
  | 'webhook'
  | 'webhook_delivery'
  | 'mcp_server'
  | 'plugin'
  | 'channel'
  | 'chat'
  | 'council_session'
  | 'saved_view'
  | 'prompt_evolution'
  | 'peer'
  | 'alert';

/**
 * Where the endpoint's company comes from; the only mechanism of tenant isolation.
 * `company`: the path parameter itself. An entity: loaded by its id; missing and foreign ones are both 404.
 * `self`: the calling agent. `worker`: the calling worker, which has no company; with `param`, the id of a task that it must have
 * claimed. `none`: no company (instance-wide, or the handler lists the caller's companies).
 */
export type Scope =
  | { readonly by: 'none' }
  | { readonly by: 'self' }
  | { readonly by: 'worker' }
  | { readonly by: 'worker'; readonly param: string }
  | { readonly by: 'company'; readonly param: string }
  | {
      readonly by: ScopeEntity;
      readonly param: string;
      /** Responds with 403 instead of 404 if the caller can't see the entity (decisions 7.13: release). */
      readonly absent?: 'forbidden';
    };

/** Minimum role. `instance_admin` refuses agents and keys; `none` is any authenticated caller that the scope admits. */
export type LeastRole = 'none' | 'viewer' | 'member' | 'admin' | 'instance_admin';

/** Which files a multipart endpoint accepts, and what happens to them before its handler is called. */
export interface FileRule {
  /** Name of the file parts; `*`: any. Files under another name are rejected. */
  readonly field: string;
  /** Streamed to storage under a new key in this folder, or kept in memory if small. */
  readonly into: { readonly folder: string; readonly under?: 'subject' } | 'memory';
  /** SERVICE_ATTACHMENT_MAX_*; or a single file, limited by SERVICE_MAX_UPLOAD_SIZE or this many bytes. */
  readonly limit: 'attachments' | 'upload' | number;
  /** Without a file the response is 400. */
  readonly required: boolean;
  /** A file that could not be stored is passed to the handler with its error instead of failing the request. */
  readonly tolerant?: true;
}

export interface EndpointRow {
  /** `slice.verb`: unique; also the OpenAPI operation id. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/api/issues/{issueId}`. */
  readonly path: string;
  /** Empty: public; credentials are ignored. */
  readonly auth: readonly AuthKind[];
  readonly role: LeastRole;
  readonly scope: Scope;
  /** Required of agents only; others are limited by their role. */
  readonly permission?: AgentPermission;
  /** Refuses agents regardless of permissions (specification, Authentication 5). */
  readonly people_only?: true;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** The body may be omitted. */
  readonly body_optional?: boolean;
  /**
   * Format of the body; JSON by default. Text fields of a multipart body are validated by `body`. `raw`: the bytes as sent,
   * regardless of their content type, at most 1 MiB unless `max_bytes` says otherwise.
   */
  readonly body_kind?: 'multipart' | 'json_or_multipart' | 'raw';
  /** For raw bodies. */
  readonly max_bytes?: number;
  /** For multipart bodies. */
  readonly files?: FileRule;
  /** Null: 204 without a body. */
  readonly response: TSchema | null;
  readonly status: 200 | 201 | 204;
  /** Other success statuses that the handler may respond with, according to the specification. */
  readonly also?: readonly number[];
  /** `write`: one transaction around the handler. `none`: plain reads, or a handler that streams or waits. */
  readonly tx: 'write' | 'none';
  /** Field of the response that may contain a secret: such responses are not stored for `Idempotency-Key` (decisions 8.5, 10.5). */
  readonly issues_secret?: string;
  /**
   * The handler writes the response itself: no response schema, no `Idempotency-Key`. `bytes` support HEAD, `events` are
   * Server-Sent Events that a reader resumes with `Last-Event-ID`.
   */
  readonly streams?: true | 'bytes' | 'events';
  /** Allowed in a session whose user must set up a second factor first. */
  readonly while_enrolling?: true;
  /** The path is also a page: the endpoint responds when JSON is preferred over HTML. GET only. */
  readonly negotiated?: true;
  /** The list is paged: `X-Next-Cursor` and `Link` headers. */
  readonly paged?: true;
  /** A feature flag: while it is off, the endpoint is 404 for everyone (decisions 10.1). */
  readonly feature?: FlagName;
  /** Allowed on an instance without a license although it changes something (decisions 1). */
  readonly while_read_only?: true;
  /**
   * Format of errors; `{"error"}` by default. `json_rpc`: an error object with the request's id.
   * `sse`: also `{"error"}` until the stream is open, then an `error` event.
   */
  readonly errors?: 'json_rpc' | 'sse';
  /** A body that the endpoint accepts as is, apart from ids, shown in OpenAPI and docs. By default derived from the schema. */
  readonly example?: unknown;
  readonly doc: string;
}

/** Preserves the literal types of an endpoint, so that its handler knows the types of query and body. */
export const endpoint = <const R extends EndpointRow>(row: R): R => row;

export type QueryOf<R extends EndpointRow> = R['query'] extends TSchema
  ? Static<R['query']>
  : Record<string, never>;
export type BodyOf<R extends EndpointRow> = R['body'] extends TSchema
  ? R['body_optional'] extends true
    ? Static<R['body']> | undefined
    : Static<R['body']>
  : R['body_kind'] extends 'raw'
    ? Uint8Array
    : undefined;
/** Includes undefined if the endpoint may also respond without a body. */
export type ResponseOf<R extends EndpointRow> = R['response'] extends TSchema
  ?
      | Static<R['response']>
      | (R['also'] extends readonly (infer S)[] ? (S extends 204 | 304 ? undefined : never) : never)
  : void;

/** Names of the path's parameters, in order. A trailing `{path*}` matches the rest, including slashes. */
export function pathParams(path: string): string[] {
  return [...path.matchAll(PATH_PARAM)].map((match) => match[1]!);
}

/** Matches a parameter in an endpoint's path; the first group is its name without the star. */
export const PATH_PARAM = /\{([^}*]+)\*?\}/g;
