/** Agents, their runtime state and keys: shapes (specification, Agent, Agent API key). */
import { Type, type Static } from 'typebox';
import {
  AnsweredBy,
  JsonObject,
  KeyDays,
  Name,
  Nullable,
  OneOf,
  Patch,
  Text,
  Timestamp,
  Uuid,
} from './schema-kit.ts';

export const agentStatuses = [
  'active',
  'paused',
  'idle',
  'running',
  'error',
  'pending_approval',
  'terminated',
] as const;
export type AgentStatus = (typeof agentStatuses)[number];

export const agentRoles = [
  'ceo',
  'cfo',
  'cio',
  'clo',
  'cmo',
  'cro',
  'cto',
  'designer',
  'devops',
  'engineer',
  'general',
  'pm',
  'qa',
  'researcher',
  'scout',
  'triage',
] as const;
export type AgentRole = (typeof agentRoles)[number];

export const adapterTypes = [
  'llm',
  'cli_a_local',
  'cli_b_local',
  'cli_a_sandbox',
  'cli_b_sandbox',
  'docker',
  'lambda',
  'remote',
] as const;
export type AdapterType = (typeof adapterTypes)[number];

export const Agent = Type.Object({
  id: Uuid,
  company_id: Uuid,
  name: Type.String(),
  role: OneOf(agentRoles),
  status: OneOf(agentStatuses),
  adapter_type: Type.String(),
  adapter_config: JsonObject,
  title: Nullable(Type.String()),
  description: Nullable(Type.String()),
  system_prompt: Nullable(Type.String()),
  heartbeat_enabled: Type.Boolean(),
  heartbeat_interval_sec: Type.Integer(),
  max_concurrent_runs: Type.Integer(),
  max_issues_per_run: Type.Integer(),
  reports_to: Nullable(Uuid),
  home_dir: Nullable(Type.String()),
  provider_id: Nullable(Uuid),
  model: Nullable(Type.String()),
  externally_available: Type.Boolean(),
  blocked_notify_enabled: Type.Boolean(),
  auto_extract_findings: Type.Boolean(),
  /** Whether the contents of its files are included in knowledge search. */
  files_as_knowledge: Type.Boolean(),
  parent_agent_id: Nullable(Uuid),
  subagent_depth: Type.Integer(),
  spawn_reason: Nullable(Type.String()),
  current_prompt_version_number: Type.Integer(),
  gepa_auto_promote: Type.Boolean(),
  gepa_provider_override: Nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Agent = Static<typeof Agent>;

export const RuntimeState = Type.Object({
  agent_id: Uuid,
  status: OneOf(agentStatuses),
  current_run_id: Nullable(Uuid),
  last_heartbeat_at: Nullable(Timestamp),
  last_error: Nullable(Type.String()),
  session_id: Nullable(Type.String()),
  session_cwd: Nullable(Type.String()),
  session_updated_at: Nullable(Timestamp),
  updated_at: Timestamp,
});
export type RuntimeState = Static<typeof RuntimeState>;

export const AgentKey = Type.Object({
  id: Uuid,
  agent_id: Uuid,
  company_id: Uuid,
  key_prefix: Type.String(),
  label: Nullable(Type.String()),
  created_by_user_id: AnsweredBy,
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
  /** Null: valid until revoked. */
  expires_at: Nullable(Timestamp),
});
export type AgentKey = Static<typeof AgentKey>;
/** The response to creating a key, and the only one that contains it. */
export const NewAgentKey = Type.Object({
  ...AgentKey.properties,
  raw_key: Type.String({ pattern: '^sk_[0-9a-f]{64}$' }),
});
export type NewAgentKey = Static<typeof NewAgentKey>;

/** A live smoke test of an agent's adapter. */
export const AdapterTest = Type.Object({
  ok: Type.Boolean(),
  latency_ms: Type.Integer(),
  /** What was observed; null if nothing was. */
  detail: Nullable(Type.String()),
  error: Nullable(Type.String()),
});
export type AdapterTest = Static<typeof AdapterTest>;

/** Payload of the awaited command `test-adapter`. */
export const TestAdapterCommand = Type.Object({
  agent_id: Uuid,
  /** Overrides the agent's own. */
  adapter_type: Type.Optional(OneOf(adapterTypes)),
});

const settable = {
  title: Nullable(Name),
  description: Nullable(Text),
  system_prompt: Nullable(Text),
  reports_to: Nullable(Uuid),
  provider_id: Nullable(Uuid),
  model: Nullable(Type.String({ minLength: 1, maxLength: 200 })),
  /** An unknown adapter type is accepted and runs as `llm` (decisions 7.20). */
  adapter_type: Type.String({ maxLength: 100 }),
  adapter_config: JsonObject,
  heartbeat_enabled: Type.Boolean(),
  heartbeat_interval_sec: Type.Integer({ minimum: 1, maximum: 31_536_000 }),
  max_concurrent_runs: Type.Integer({ minimum: 1, maximum: 100 }),
  max_issues_per_run: Type.Integer({ minimum: 1, maximum: 100 }),
  externally_available: Type.Boolean(),
  blocked_notify_enabled: Type.Boolean(),
  auto_extract_findings: Type.Boolean(),
  gepa_auto_promote: Type.Boolean(),
  gepa_provider_override: Nullable(Type.String({ maxLength: 200 })),
};

export const CreateAgent = Type.Object({
  name: Name,
  role: Type.Optional(OneOf(agentRoles)),
  ...Patch(settable).properties,
});
export type CreateAgent = Static<typeof CreateAgent>;

export const UpdateAgent = Patch({
  name: Name,
  role: OneOf(agentRoles),
  status: OneOf(agentStatuses),
  /** Only people may set it. */
  files_as_knowledge: Type.Boolean(),
  home_dir: Nullable(Type.String({ minLength: 1, maxLength: 4096 })),
  /** The reason for the change, stored with the configuration revision. */
  reason: Nullable(Text),
  ...settable,
});
export type UpdateAgent = Static<typeof UpdateAgent>;

export const CreateAgentKey = Type.Object({
  agent_id: Uuid,
  label: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
  expires_in_days: KeyDays,
});
