/** The reporting tree and a company's defaults for new agents (specification, Agents). */
import { Type, type Static } from 'typebox';
import { Agent, agentRoles, agentStatuses, UpdateAgent } from './agents.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { JsonObject, Nullable, OneOf, PageQuery, Uuid } from './schema-kit.ts';

export const AgentDefaults = Type.Object({
  adapter_type: Type.String(),
  adapter_config: JsonObject,
  heartbeat_enabled: Type.Boolean(),
  heartbeat_interval_sec: Type.Integer(),
});
export type AgentDefaults = Static<typeof AgentDefaults>;
export const UpdateAgentDefaults = Type.Pick(UpdateAgent, [
  'adapter_type',
  'adapter_config',
  'heartbeat_enabled',
  'heartbeat_interval_sec',
]);
export type UpdateAgentDefaults = Static<typeof UpdateAgentDefaults>;

export interface OrgNode {
  id: string;
  name: string;
  role: string;
  title: string | null;
  status: string;
  reports: OrgNode[];
}
const OrgRoot = Type.Object({
  id: Uuid,
  name: Type.String(),
  role: OneOf(agentRoles),
  title: Nullable(Type.String()),
  status: OneOf(agentStatuses),
  /** Nodes of the same shape, nested to any depth. */
  reports: Type.Unsafe<OrgNode[]>({ type: 'array', items: { type: 'object' } }),
});

const ofCompany = {
  auth: BEARER,
  scope: { by: 'company', param: 'companyId' },
  status: 200,
} as const;
const read = { method: 'GET', role: 'viewer', tx: 'none' } as const;

export const agentOrgEndpoints = {
  defaults: endpoint({
    ...ofCompany,
    ...read,
    id: 'agents.defaults',
    path: '/api/companies/{companyId}/agent-defaults',
    response: AgentDefaults,
    doc: 'Defaults for new agents.',
  }),
  updateDefaults: endpoint({
    ...ofCompany,
    id: 'agents.update-defaults',
    method: 'PATCH',
    path: '/api/companies/{companyId}/agent-defaults',
    role: 'admin',
    body: UpdateAgentDefaults,
    response: AgentDefaults,
    tx: 'write',
    example: { heartbeat_enabled: true, heartbeat_interval_sec: 600 },
    doc: 'Changes the defaults; existing agents keep their values.',
  }),
  orgTree: endpoint({
    ...ofCompany,
    ...read,
    id: 'agents.org-tree',
    path: '/api/companies/{companyId}/org-tree',
    response: Type.Array(OrgRoot),
    doc: 'The reporting tree: agents without a manager, each with nested `reports`, by name.',
  }),
  directReports: endpoint({
    ...read,
    auth: BEARER,
    scope: { by: 'agent', param: 'agentId' },
    status: 200,
    id: 'agents.direct-reports',
    path: '/api/companies/{companyId}/agents/{agentId}/direct-reports',
    query: Type.Object(PageQuery),
    response: Type.Array(Agent),
    paged: true,
    doc: 'The agents that report to this one, newest first; at most 1,000 or 4 MB unless `limit` is given.',
  }),
};
