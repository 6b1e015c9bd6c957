/**
 * An endpoint is a row of data. The web tier's `mount` turns rows into routes; OpenAPI, the endpoint × actor matrix
 * and the fuzz test read the same rows. See docs/adding-an-endpoint.md.
 */
import type { Static, TSchema } from 'typebox';
import type { AgentPermission } from './actor.ts';
import type { FlagName } from './settings.ts';

/** Kinds of callers a row admits. `user` is a session; a row that says "bearer" in the specification takes the first three. */
export type AuthKind = 'user' | 'agent' | 'board_user' | 'worker';
export const BEARER: readonly AuthKind[] = ['user', 'agent', 'board_user'];

/** Entities whose id in a path leads to a company: each has one loader in the web tier's scope registry. */
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
 * Where the row's company comes from; the only mechanism of tenant isolation.
 * `company`: the path parameter itself. An entity: loaded by its id, absent or foreign alike is 404.
 * `self`: the calling agent. `worker`: the calling worker, of no company. `none`: no company (instance-wide, or the handler lists the caller's companies).
 */
export type Scope =
  | { readonly by: 'none' }
  | { readonly by: 'self' }
  | { readonly by: 'worker' }
  | { readonly by: 'company'; readonly param: string }
  | {
      readonly by: ScopeEntity;
      readonly param: string;
      /** Answers 403 instead of 404 for what the caller can't see (decisions 7.13: release). */
      readonly absent?: 'forbidden';
    };

/** Least role. `instance_admin` refuses agents and keys; `none` is any authenticated caller that the scope admits. */
export type LeastRole = 'none' | 'viewer' | 'member' | 'admin' | 'instance_admin';

/** Which files a multipart row takes, and what becomes of them before its handler is called. */
export interface FileRule {
  /** Name of their parts; `*`: any. A file of another name is refused. */
  readonly field: string;
  /** Streamed into the storage under a new key in this folder, or, where they are small, kept in memory. */
  readonly into: { readonly folder: string; readonly under?: 'subject' } | 'memory';
  /** SERVICE_ATTACHMENT_MAX_*; or one file, of SERVICE_MAX_UPLOAD_SIZE or so many bytes. */
  readonly limit: 'attachments' | 'upload' | number;
  /** Without one the answer is 400. */
  readonly required: boolean;
  /** A file that the storage does not take is handed over with its error, instead of failing the request. */
  readonly tolerant?: true;
}

export interface EndpointRow {
  /** `slice.verb`: unique; also the OpenAPI operation id. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/api/issues/{issueId}`. */
  readonly path: string;
  /** Empty: public, no credentials looked at. */
  readonly auth: readonly AuthKind[];
  readonly role: LeastRole;
  readonly scope: Scope;
  /** Needed by agents only; others are bounded by their role. */
  readonly permission?: AgentPermission;
  /** Refuses agents, whatever their permissions (specification, Authentication 5). */
  readonly people_only?: true;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** The body may be left out altogether. */
  readonly body_optional?: boolean;
  /**
   * How the body comes; JSON where nothing is said. Text fields of a multipart body are validated by `body`. `raw`: the
   * bytes as they were sent, 1 MiB at most unless `max_bytes` says more, whatever they are said to be.
   */
  readonly body_kind?: 'multipart' | 'json_or_multipart' | 'raw';
  /** Of raw bodies. */
  readonly max_bytes?: number;
  /** Of multipart bodies. */
  readonly files?: FileRule;
  /** Null: 204 without a body. */
  readonly response: TSchema | null;
  readonly status: 200 | 201 | 204;
  /** Other success statuses that the handler may answer with, by the specification. */
  readonly also?: readonly number[];
  /** `write`: one transaction around the handler. `none`: plain reads, or a handler that streams or awaits. */
  readonly tx: 'write' | 'none';
  /** Field in which an answer may show a secret: `Idempotency-Key` keeps no such answer (decisions 8.5, 10.5). */
  readonly issues_secret?: string;
  /** The handler answers by itself (SSE, bytes, text): no response schema, no `Idempotency-Key`. `bytes` have a HEAD. */
  readonly streams?: true | 'bytes';
  /** Open to a session whose user must set up a second factor first. */
  readonly while_enrolling?: true;
  /** The path is a page's too: the row answers whoever asks for JSON rather than HTML. GET only. */
  readonly negotiated?: true;
  /** The list is paged: `X-Next-Cursor` and `Link` headers. */
  readonly paged?: true;
  /** A feature that may be switched off: the row then answers 404, to everybody (decisions 10.1). */
  readonly feature?: FlagName;
  /** Changes something and answers all the same on an instance without a license (decisions 1). */
  readonly while_read_only?: true;
  /**
   * What an error looks like; `{"error"}` where nothing is said. `json_rpc`: an error object with the request's id.
   * `sse`: `{"error"}` too until the stream is open, an `error` event from then on.
   */
  readonly errors?: 'json_rpc' | 'sse';
  /** A body that the row takes as it stands, but for ids: OpenAPI and the docs show it. Made from the schema where absent. */
  readonly example?: unknown;
  readonly doc: string;
}

/** Keeps the literal types of a row, so that its handler knows query and body. */
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
/** Undefined where the row may also answer without a body. */
export type ResponseOf<R extends EndpointRow> = R['response'] extends TSchema
  ? | Static<R['response']>
    | (R['also'] extends readonly (infer S)[] ? (S extends 204 | 304 ? undefined : never) : never)
  : void;

/** Names of the path's parameters, in order. `{path*}` at its end takes all that is left, with its slashes. */
export function pathParams(path: string): string[] {
  return [...path.matchAll(PATH_PARAM)].map((match) => match[1]!);
}

/** A parameter in a row's path; its name, without the star, is the first group. */
export const PATH_PARAM = /\{([^}*]+)\*?\}/g;
