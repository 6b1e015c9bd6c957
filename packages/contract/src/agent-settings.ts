/** Settings of an agent outside its row: home, permissions, configuration, prompt versions (specification, Agents). */
import { Type, type Static } from 'typebox';
import { agentPermissionDefaults } from './actor.ts';
import { Agent } from './agents.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { JsonObject, Nullable, OneOf, PageQuery, Timestamp, Uuid } from './schema-kit.ts';

export const AgentHome = Type.Object({
  home_dir: Type.String(),
  /** Whether the agent has its own `home_dir` instead of the default below the company's. */
  is_override: Type.Boolean(),
});
export type AgentHome = Static<typeof AgentHome>;

/** Every permission key with its effective value. */
export const AgentPermissions = Type.Unsafe<Record<string, boolean>>(
  Type.Object(Object.fromEntries(Object.keys(agentPermissionDefaults).map((key) => [key, Type.Boolean()]))),
);
/** Checked by the command, which names any unknown key. */
export const UpdateAgentPermissions = Type.Record(Type.String(), Type.Boolean());

export const ConfigurationRevision = Type.Object({
  id: Uuid,
  agent_id: Uuid,
  /** The `adapter_config` from then on; secrets stay references. */
  config_json: JsonObject,
  reason: Nullable(Type.String()),
  /** A user or an agent. */
  created_by: Nullable(Uuid),
  created_at: Timestamp,
});
export type ConfigurationRevision = Static<typeof ConfigurationRevision>;

export const PromptVersion = Type.Object({
  version_number: Type.Integer(),
  system_prompt: Type.String(),
  source: OneOf(['manual', 'gepa']),
  score: Nullable(Type.Number()),
  /** For an evolved prompt: the version it was derived from, and the reason. */
  parent_version_number: Nullable(Type.Integer()),
  reason: Nullable(Type.String()),
  created_at: Timestamp,
});
export type PromptVersion = Static<typeof PromptVersion>;

const ofAgent = { auth: BEARER, role: 'viewer', scope: { by: 'agent', param: 'agentId' } } as const;
const read = { ...ofAgent, method: 'GET', status: 200, tx: 'none' } as const;

export const agentSettingsEndpoints = {
  home: endpoint({
    ...read,
    id: 'agents.home',
    path: '/api/companies/{companyId}/agents/{agentId}/home',
    response: AgentHome,
    doc: 'The home folder of the agent’s programs.',
  }),
  permissions: endpoint({
    ...read,
    id: 'agents.permissions',
    path: '/api/agents/{agentId}/permissions',
    response: AgentPermissions,
    doc: 'All permission keys with their effective values.',
  }),
  updatePermissions: endpoint({
    ...ofAgent,
    id: 'agents.update-permissions',
    method: 'PATCH',
    path: '/api/agents/{agentId}/permissions',
    role: 'member',
    people_only: true,
    body: UpdateAgentPermissions,
    response: AgentPermissions,
    status: 200,
    tx: 'write',
    example: { 'agents.create': true },
    doc: 'Sets permissions; an unknown key is 400. People only, and only admins may give `secrets.use`.',
  }),
  configuration: endpoint({
    ...read,
    id: 'agents.configuration',
    path: '/api/agents/{agentId}/configuration',
    response: JsonObject,
    doc: 'The stored adapter_config: secrets stay references.',
  }),
  revisions: endpoint({
    ...read,
    id: 'agents.configuration-revisions',
    path: '/api/agents/{agentId}/configuration/revisions',
    query: Type.Object(PageQuery),
    response: Type.Array(ConfigurationRevision),
    paged: true,
    doc: 'The configuration after each change, newest first; at most 1,000 or 4 MB unless a limit is given.',
  }),
  promptVersions: endpoint({
    ...read,
    id: 'agents.prompt-versions',
    path: '/api/agents/{agentId}/prompt-versions',
    query: Type.Object(PageQuery),
    response: Type.Array(PromptVersion),
    paged: true,
    doc: 'The agent’s prompts, newest first.',
  }),
  activatePrompt: endpoint({
    ...ofAgent,
    id: 'agents.activate-prompt',
    method: 'POST',
    path: '/api/agents/{agentId}/prompt-versions/{versionNumber}/activate',
    role: 'member',
    permission: 'agents.update',
    response: Agent,
    status: 200,
    tx: 'write',
    doc: 'Makes this version the agent’s prompt again; 404 if there is no such version.',
  }),
};
