/** The acting party. The web tier resolves it once per request; commands, activity and permissions read it. */
import { Type, type Static } from 'typebox';
import { Nullable, OneOf, Uuid } from './schema-kit.ts';
import { SharedModelList } from './shared-models.ts';
import { workerStatuses } from './worker-statuses.ts';

export const companyRoles = ['viewer', 'member', 'admin'] as const;
export type CompanyRole = (typeof companyRoles)[number];
export const instanceRoles = ['admin', 'member'] as const;
export type InstanceRole = (typeof instanceRoles)[number];

/** Maximum length of a chain of agent-made causes (decisions 8.2). */
export const MAX_CAUSE_DEPTH = 12;

/** Two or three letters, optionally with script and region. The web tier knows which languages exist. */
export const Language = Type.String({ pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$', maxLength: 32 });

export const themes = ['light', 'dark'] as const;
export const densities = ['compact'] as const;
/** A user's display preferences. Absent ones follow the browser; the default density is comfortable. */
export const Preferences = Type.Object({
  theme: Type.Optional(OneOf(themes)),
  density: Type.Optional(OneOf(densities)),
  /** IANA name; if absent, the browser's time zone. */
  time_zone: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  /** A language tag such as `de`. If absent, the browser's language, or English where there is no translation. */
  language: Type.Optional(Language),
});
export type Preferences = Static<typeof Preferences>;

export const UserActor = Type.Object({
  kind: Type.Literal('user'),
  user_id: Uuid,
  name: Type.String(),
  instance_role: OneOf(instanceRoles),
  session_id: Nullable(Uuid),
  /** Roles by company id; trashed companies are left out. */
  roles: Type.Record(Type.String(), OneOf(companyRoles)),
  /** A second factor is required but not set up yet: only setting one up is allowed. */
  must_enrol: Type.Optional(Type.Literal(true)),
  /** Absent if the user has none. */
  preferences: Type.Optional(Preferences),
});
export const AgentActor = Type.Object({
  kind: Type.Literal('agent'),
  agent_id: Uuid,
  company_id: Uuid,
  name: Type.String(),
  key_id: Nullable(Uuid),
  permissions: Type.Record(Type.String(), Type.Boolean()),
  /** The run in which the agent acts: its verbs, or calls with the run's ephemeral key. */
  run_id: Nullable(Uuid),
  /** Length of the chain of agent-made causes so far; a wakeup caused by this act adds one. */
  depth: Type.Integer(),
});
export const BoardUserActor = Type.Object({
  kind: Type.Literal('board_user'),
  key_id: Uuid,
  company_id: Uuid,
  role: OneOf(companyRoles),
  name: Type.String(),
  /** Length of the chain of agent-made causes, as reported by another instance; absent: none. */
  depth: Type.Optional(Type.Integer()),
});
/** Belongs to no company. Its status decides whether its key is accepted. */
export const WorkerActor = Type.Object({
  kind: Type.Literal('worker'),
  worker_id: Uuid,
  name: Type.String(),
  status: OneOf(workerStatuses),
  tags: Type.Array(Type.String()),
  shared_models: SharedModelList,
});
export const SystemActor = Type.Object({ kind: Type.Literal('system'), name: Type.String() });
/**
 * Something outside of the service that it writes for: a trigger's caller, a plugin, an agent of another instance. It has no rights
 * anywhere; activity shows it as `system`, by this name.
 */
export const OutsideActor = Type.Object({ kind: Type.Literal('outside'), name: Type.String() });
/** The caller of a public endpoint: it has no rights anywhere and writes no activity. */
export const AnonymousActor = Type.Object({ kind: Type.Literal('anonymous'), name: Type.String() });
export const Actor = Type.Union([
  UserActor,
  AgentActor,
  BoardUserActor,
  WorkerActor,
  SystemActor,
  OutsideActor,
  AnonymousActor,
]);

export type UserActor = Static<typeof UserActor>;
export type AgentActor = Static<typeof AgentActor>;
export type BoardUserActor = Static<typeof BoardUserActor>;
export type WorkerActor = Static<typeof WorkerActor>;
export type SystemActor = Static<typeof SystemActor>;
export type OutsideActor = Static<typeof OutsideActor>;
export type AnonymousActor = Static<typeof AnonymousActor>;
export type Actor = Static<typeof Actor>;

/** Agent permission keys with their defaults (decisions 3, Agent permissions). */
export const agentPermissionDefaults = {
  'agents.create': true,
  'agents.update': true,
  'issues.create': true,
  'issues.assign': true,
  'issues.update': true,
  'notes.write': true,
  'skills.manage': true,
  'routines.manage': true,
  'approvals.request': true,
  'subagents.spawn': true,
  'federation.call': true,
  'plugins.invoke': true,
  'files.write': true,
  'secrets.use': false,
} as const;
export type AgentPermission = keyof typeof agentPermissionDefaults;

/** An agent's effective permission: its own override, otherwise the default. */
export function permits(permissions: Record<string, boolean>, key: AgentPermission): boolean {
  return Object.hasOwn(permissions, key) ? permissions[key] === true : agentPermissionDefaults[key];
}
