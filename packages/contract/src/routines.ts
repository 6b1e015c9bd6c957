/** Routines, their triggers and runs: shapes (specification, Routine trigger; decisions 3, Routines). */
import { Type, type Static } from 'typebox';
import { priorities } from './issues.ts';
import { Name, Nullable, OneOf, Patch, Text, Timestamp, Uuid } from './schema-kit.ts';

export const routineStatuses = ['active', 'paused', 'archived'] as const;
export const concurrencyPolicies = ['always_enqueue', 'coalesce_if_active', 'skip_if_active'] as const;
const triggerKinds = ['webhook', 'schedule'] as const;
export const signingModes = ['none', 'hmac', 'hmac_ts'] as const;
export type SigningMode = (typeof signingModes)[number];
const routineSources = ['webhook', 'schedule', 'manual', 'agent'] as const;
export type RoutineSource = (typeof routineSources)[number];
export const routineRunStatuses = ['enqueued', 'coalesced', 'skipped', 'failed'] as const;

export const Routine = Type.Object({
  id: Uuid,
  company_id: Uuid,
  name: Type.String(),
  description: Nullable(Type.String()),
  assignee_agent_id: Nullable(Uuid),
  project_id: Nullable(Uuid),
  goal_id: Nullable(Uuid),
  title_template: Type.String(),
  body_template: Nullable(Type.String()),
  priority: OneOf(priorities),
  status: OneOf(routineStatuses),
  concurrency_policy: OneOf(concurrencyPolicies),
  last_fired_at: Nullable(Timestamp),
  /** The earliest of its schedules; null without any, and while the routine is not active. */
  next_fire_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Routine = Static<typeof Routine>;

export const UpdateRoutine = Patch({
  name: Name,
  description: Nullable(Text),
  assignee_agent_id: Nullable(Uuid),
  project_id: Nullable(Uuid),
  goal_id: Nullable(Uuid),
  /** Supports `{{payload}}`, `{{payload.some.path}}`, `{{now}}` and `{{routine.name}}`, as does the body. */
  title_template: Name,
  body_template: Nullable(Text),
  priority: OneOf(priorities),
  status: OneOf(routineStatuses),
  concurrency_policy: OneOf(concurrencyPolicies),
});
export type UpdateRoutine = Static<typeof UpdateRoutine>;
/** Without a title template, issues get the routine's name. */
export const CreateRoutine = Type.Object({ ...UpdateRoutine.properties, name: Name });
export type CreateRoutine = Static<typeof CreateRoutine>;

export const RoutineTrigger = Type.Object({
  id: Uuid,
  routine_id: Uuid,
  kind: OneOf(triggerKinds),
  enabled: Type.Boolean(),
  /** Where nothing is signed, this id alone fires the routine: then null for all but `created_by_user_id`, in person. */
  public_id: Nullable(Uuid),
  signing_mode: OneOf(signingModes),
  replay_window_sec: Type.Integer(),
  label: Nullable(Type.String()),
  /** Of a webhook: whoever created it, or was shown its secret or address last. */
  created_by_user_id: Nullable(Uuid),
  cron_expression: Nullable(Type.String()),
  timezone: Nullable(Type.String()),
  next_fire_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type RoutineTrigger = Static<typeof RoutineTrigger>;
/** The only response that contains the secret; null if nothing is signed. */
export const NewRoutineTrigger = Type.Object({
  ...RoutineTrigger.properties,
  public_id: Uuid,
  secret: Nullable(Type.String()),
});
export type NewRoutineTrigger = Static<typeof NewRoutineTrigger>;

const CronExpression = Type.String({ minLength: 1, maxLength: 200 });
const Timezone = Type.String({ minLength: 1, maxLength: 64 });
const Label = Nullable(Type.String({ maxLength: 200, pattern: '^[^\\u0000]*$' }));

export const CreateRoutineTrigger = Type.Object({
  kind: OneOf(triggerKinds),
  /** `hmac_ts` can only be set on the routine's page. */
  signing_mode: Type.Optional(OneOf(['none', 'hmac'])),
  label: Type.Optional(Label),
  /** Five fields; for a schedule. */
  cron_expression: Type.Optional(CronExpression),
  /** IANA name, by default UTC; for a schedule. */
  timezone: Type.Optional(Timezone),
});
export type CreateRoutineTrigger = Static<typeof CreateRoutineTrigger>;

/** Used by the routine's page, the only place that may choose `hmac_ts`. */
export const SetSigningMode = Type.Object({ signing_mode: OneOf(signingModes) });
/** The page's form for adding a trigger. */
export const AddRoutineTrigger = Type.Object({
  ...CreateRoutineTrigger.properties,
  signing_mode: Type.Optional(OneOf(signingModes)),
});

export const UpdateRoutineTrigger = Patch({
  enabled: Type.Boolean(),
  label: Label,
  /** At most 30 days; 0 accepts every replay. */
  replay_window_sec: Type.Integer({ minimum: 0, maximum: 2_592_000 }),
  cron_expression: CronExpression,
  timezone: Timezone,
});
export type UpdateRoutineTrigger = Static<typeof UpdateRoutineTrigger>;

export const RoutineRun = Type.Object({
  id: Uuid,
  routine_id: Uuid,
  trigger_id: Nullable(Uuid),
  source: OneOf(routineSources),
  status: OneOf(routineRunStatuses),
  issue_id: Nullable(Uuid),
  payload: Type.Unknown(),
  payload_sha256: Nullable(Type.String()),
  error: Nullable(Type.String()),
  created_at: Timestamp,
});
export type RoutineRun = Static<typeof RoutineRun>;

/** What plugins receive when a routine fires: the run without its payload, and the routine's owner. */
export const RoutineFired = Type.Object({
  ...Type.Omit(RoutineRun, ['payload', 'payload_sha256']).properties,
  routine_name: Type.String(),
});
export type RoutineFired = Static<typeof RoutineFired>;

export const FireRoutine = Type.Object({ payload: Type.Optional(Type.Unknown()) });
export const FiredRoutine = Type.Object({ status: OneOf(routineRunStatuses), run: RoutineRun });
export type FiredRoutine = Static<typeof FiredRoutine>;

/** A routine as installed by agents: with its schedule, if it has one. */
export const InstallRoutine = Type.Object({
  ...CreateRoutine.properties,
  cron_expression: Type.Optional(CronExpression),
  timezone: Type.Optional(Timezone),
});
export type InstallRoutine = Static<typeof InstallRoutine>;

export const PromoteRoutine = Type.Object({
  cron_expression: Type.Optional(CronExpression),
  timezone: Type.Optional(Timezone),
  name: Type.Optional(Name),
});
export type PromoteRoutine = Static<typeof PromoteRoutine>;
