/** Who acts. The web tier resolves it once per request; commands, activity and permissions read it. */
import { Type, type Static } from 'typebox';
import { Nullable, OneOf, Uuid } from './schema-kit.ts';
import { SharedModelList } from './shared-models.ts';
import { workerStatuses } from './worker-statuses.ts';

export const companyRoles = ['viewer', 'member', 'admin'] as const;
export type CompanyRole = (typeof companyRoles)[number];
export const instanceRoles = ['admin', 'member'] as const;
export type InstanceRole = (typeof instanceRoles)[number];

/** Longest chain of causes made by agents (decisions 8.2). */
export const MAX_CAUSE_DEPTH = 12;

/** Two letters, or three, with a script or region: which ones there are, the web tier knows. */
export const Language = Type.String({ pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$', maxLength: 32 });

export const themes = ['light', 'dark'] as const;
export const densities = ['compact'] as const;
/** How pages look to a user. What is absent is as the browser has it, and comfortable. */
export const Preferences = Type.Object({
  theme: Type.Optional(OneOf(themes)),
  density: Type.Optional(OneOf(densities)),
  /** A name of the IANA; where it is absent, the browser's. */
  time_zone: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  /** A language tag: `de`. Pages without it are in the browser's, and in English where there is no file of it. */
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
  /** A second factor is required of the user, who has none: nothing is open but setting one up. */
  must_enrol: Type.Optional(Type.Literal(true)),
  /** Absent where the user has none. */
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
  /** Length of the chain of agent-made causes so far; a wakeup that this act causes has one more. */
  depth: Type.Integer(),
});
export const BoardUserActor = Type.Object({
  kind: Type.Literal('board_user'),
  key_id: Uuid,
  company_id: Uuid,
  role: OneOf(companyRoles),
  name: Type.String(),
  /** Agent-made causes in a row behind what it does, where another instance says so; absent: none. */
  depth: Type.Optional(Type.Integer()),
});
/** Of no company. Its status decides whether its key opens anything. */
export const WorkerActor = Type.Object({
  kind: Type.Literal('worker'),
  worker_id: Uuid,
  name: Type.String(),
  status: OneOf(workerStatuses),
  tags: Type.Array(Type.String()),
  shared_models: SharedModelList,
});
export const SystemActor = Type.Object({ kind: Type.Literal('system'), name: Type.String() });
/** The caller of a public row: it has no rights anywhere and writes no activity. */
export const AnonymousActor = Type.Object({ kind: Type.Literal('anonymous'), name: Type.String() });
export const Actor = Type.Union([
  UserActor,
  AgentActor,
  BoardUserActor,
  WorkerActor,
  SystemActor,
  AnonymousActor,
]);

export type UserActor = Static<typeof UserActor>;
export type AgentActor = Static<typeof AgentActor>;
export type BoardUserActor = Static<typeof BoardUserActor>;
export type WorkerActor = Static<typeof WorkerActor>;
export type SystemActor = Static<typeof SystemActor>;
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

/** The permission as it stands for this agent: its own override, else the default. */
export function permits(permissions: Record<string, boolean>, key: AgentPermission): boolean {
  return Object.hasOwn(permissions, key) ? permissions[key] === true : agentPermissionDefaults[key];
}
