/** Remote workers and their tasks (specification, Remote worker and task; decisions 3, Workers, and 7.25). */
import { Type, type Static } from 'typebox';
import { AnsweredBy, JsonObject, MAX_TEXT, Name, Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';
import { SharedModelList } from './shared-models.ts';
import { TaskPayload } from './task-payload.ts';
import { workerStatuses } from './worker-statuses.ts';

const Optional = Type.Optional;

/** Version of the operating contract that workers receive (specification, Versioning 2). */
export const PROMPT_VERSION = '1.4.0';
/** A worker is offline if it has sent no heartbeat for this long. */
export const WORKER_OFFLINE_SEC = 300;
/** How often workers send a heartbeat. */
export const WORKER_HEARTBEAT_SEC = 30;

export const remoteTaskStatuses = [
  'queued',
  'claimed',
  'cancel_requested',
  'completed',
  'failed',
  'cancelled',
] as const;
export type RemoteTaskStatus = (typeof remoteTaskStatuses)[number];

const tag = Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000-\\u001f\\u007f]+$' });
export const WorkerTags = Type.Array(tag, { maxItems: 100 });
const stamp = Type.String({ maxLength: 200, pattern: '^[^\\u0000]*$' });

export const Worker = Type.Object({
  id: Uuid,
  name: Type.String(),
  /** The effective tags: those of the registration, or as changed by an admin. */
  tags: Type.Array(Type.String()),
  status: OneOf(workerStatuses),
  /** Time of its last heartbeat. */
  last_seen_at: Nullable(Timestamp),
  created_at: Timestamp,
});
export type Worker = Static<typeof Worker>;

/** As seen by instance admins and carried by `worker_updated`. */
export const AdminWorker = Type.Object({
  ...Worker.properties,
  created_by_user_id: AnsweredBy,
  /** A heartbeat arrived within the last 5 minutes. */
  online: Type.Boolean(),
  version: Nullable(Type.String()),
  commit: Nullable(Type.String()),
  build_date: Nullable(Type.String()),
  prompt_version: Nullable(Type.String()),
  shared_models: SharedModelList,
  /** Number of tasks it is working on. */
  running: Type.Integer({ minimum: 0 }),
});
export type AdminWorker = Static<typeof AdminWorker>;

export const WorkerUpdated = Type.Object({ ...AdminWorker.properties, deleted: Type.Boolean() });
export type WorkerUpdated = Static<typeof WorkerUpdated>;

/** Unknown fields are ignored, so that newer workers can register with older services. */
export const RegisterWorker = Type.Object({
  /** Required of a new worker; one that resumes has it already. */
  name: Optional(Name),
  tags: Optional(WorkerTags),
  version: Optional(stamp),
  commit: Optional(stamp),
  build_date: Optional(stamp),
  prompt_version: Optional(stamp),
  shared_models: Optional(
    Type.Union([Type.String({ maxLength: 20_000 }), SharedModelList], {
      description:
        'a text like provider:model,model;provider:model, or a list like [{"provider": "…", "models": ["…"]}]',
    }),
  ),
});
export type RegisterWorker = Static<typeof RegisterWorker>;

/** As it goes into a header. */
export const WorkerKey = Type.String({ minLength: 16, maxLength: 200, pattern: '^[\\x21-\\x7e]+$' });

/** Fields that don't apply are omitted: the key of a resumed worker, the prompt of one that awaits approval. */
export const WorkerRegistration = Type.Object({
  worker_id: Uuid,
  status: OneOf(workerStatuses),
  /** Shown only once. */
  api_key: Optional(WorkerKey),
  /** The effective tags; omitted while the worker awaits approval. */
  tags: Optional(Type.Array(Type.String())),
  operating_prompt: Optional(Type.String()),
  prompt_version: Optional(Type.String()),
});
export type WorkerRegistration = Static<typeof WorkerRegistration>;

export const WorkerHeartbeat = Type.Object({
  /** Tasks the worker is working on; a claim missing here for 60 s returns to the queue. */
  running: Optional(Type.Array(Uuid, { maxItems: 1000 })),
});
export type WorkerHeartbeat = Static<typeof WorkerHeartbeat>;

/** Narrows the worker's stored tags for this claim. */
export const ClaimTask = Type.Object({ tags: Optional(WorkerTags) });
export type ClaimTask = Static<typeof ClaimTask>;

const count = Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647 }));

/** A worker's result for a task. Stored as received; session and connections are ignored. */
export const TaskResult = Type.Object({
  /** The model's text, including action lines. */
  summary: Type.String({ maxLength: MAX_TEXT }),
  model: Optional(Type.String({ maxLength: 200 })),
  input_tokens: count,
  output_tokens: count,
  cached_tokens: count,
  cost_usd: Optional(Type.Number({ minimum: 0, maximum: 1_000_000 })),
  session_id: Optional(Type.String({ maxLength: 1000 })),
  session_cwd: Optional(Type.String({ maxLength: 4000 })),
  outbound_connections: Optional(Type.Array(Type.String({ maxLength: 1000 }), { maxItems: 10_000 })),
});
export type TaskResult = Static<typeof TaskResult>;

export const RemoteTask = Type.Object({
  id: Uuid,
  heartbeat_run_id: Uuid,
  agent_id: Uuid,
  company_id: Uuid,
  worker_id: Nullable(Uuid),
  tags_required: Type.Array(Type.String()),
  /** Includes the run's key and tokens, which are never stored. */
  payload: TaskPayload,
  status: OneOf(remoteTaskStatuses),
  claimed_at: Nullable(Timestamp),
  completed_at: Nullable(Timestamp),
  result: Nullable(JsonObject),
  error: Nullable(Type.String()),
  created_at: Timestamp,
});
export type RemoteTask = Static<typeof RemoteTask>;

export const FailTask = Type.Object({ error: Type.String({ maxLength: 20_000 }) });
export type FailTask = Static<typeof FailTask>;

export const TaskControl = Type.Object({
  /** The worker stops and reports no result. */
  cancel: Type.Boolean(),
});
export type TaskControl = Static<typeof TaskControl>;

/**
 * Copied to the transcript as they are, except that `status` and `action` are the service's own, and names that are none (letters, digits,
 * `_.:-`, at most 64) become a `log` that names its kind. The service's pages know `output` `{text}`, `tool`, `log` `{message, refused?}`,
 * `error` `{message}` and `prompt`. `refused` are the places that the company's host list kept from its programs.
 */
export const TaskEvents = Type.Object({
  events: Type.Array(
    Type.Object({
      kind: Type.String({ minLength: 1, maxLength: 100 }),
      /** An object. A text becomes `{text}`, any other value `{value}`. */
      payload: Optional(Type.Unknown()),
    }),
    { maxItems: 1000 },
  ),
});
export type TaskEvents = Static<typeof TaskEvents>;

/** What a project's external module shows: the token that came with a request. */
export const VerifyModuleToken = Type.Object({ token: Type.String({ minLength: 1, maxLength: 1000 }) });
export type VerifyModuleToken = Static<typeof VerifyModuleToken>;
export const ModuleTokenHolder = Type.Object({
  company_id: Uuid,
  project_id: Uuid,
  run_id: Uuid,
  agent_id: Uuid,
  expires_at: Timestamp,
});
export type ModuleTokenHolder = Static<typeof ModuleTokenHolder>;

export const CreateWorker = Type.Object({ name: Name, tags: Optional(WorkerTags) });
export type CreateWorker = Static<typeof CreateWorker>;
export const UpdateWorker = Type.Object({ name: Optional(Name), tags: Optional(WorkerTags) });
export type UpdateWorker = Static<typeof UpdateWorker>;

const total = Type.Integer({ minimum: 0 });
export const QueueStats = Type.Object({
  queued: total,
  claimed: total,
  completed_24h: total,
  failed_24h: total,
  /** Null if nothing is waiting. */
  oldest_queued_sec: Nullable(Type.Number({ minimum: 0 })),
  /** Approved workers are online or offline. */
  workers: Type.Object({
    online: total,
    offline: total,
    draining: total,
    disabled: total,
    pending_approval: total,
  }),
  /** By required tag; a task with several tags counts for each. */
  by_tag: Type.Array(Type.Object({ tag: Type.String(), queued: total })),
});
export type QueueStats = Static<typeof QueueStats>;
