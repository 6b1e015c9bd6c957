/** Sub-agents (decisions 3): agents spawned by agents, each for one issue. Created and awaited by action verbs. */
import { Type, type Static } from 'typebox';
import { agentRoles, agentStatuses } from './agents.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { issueStatuses } from './issues.ts';
import { Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';

/** Maximum number of levels of sub-agents below an ordinary agent. */
export const MAX_SUBAGENT_DEPTH = 3;
/** Maximum number of active sub-agents per agent. */
export const MAX_ACTIVE_SUBAGENTS = 10;
/** Of all levels below one ordinary agent: ten each would be 1,110, whose runs would hold up the company's other agents. */
export const MAX_ACTIVE_IN_TREE = 100;

export const subagentOutcomes = ['done', 'failed', 'cancelled', 'deleted'] as const;
export type SubagentOutcome = (typeof subagentOutcomes)[number];

export const Subagent = Type.Object({
  agent_id: Uuid,
  company_id: Uuid,
  parent_agent_id: Uuid,
  /** The issue that the parent was working on. */
  parent_issue_id: Uuid,
  issue_id: Uuid,
  name: Type.String(),
  role: OneOf(agentRoles),
  /** 1 to 3: levels below an ordinary agent. */
  depth: Type.Integer(),
  status: OneOf(agentStatuses),
  /** Whether the agent's, or the issue's, own address is 404. */
  agent_in_trash: Type.Boolean(),
  issue_in_trash: Type.Boolean(),
  issue_identifier: Type.String(),
  issue_title: Type.String(),
  issue_status: OneOf(issueStatuses),
  /** Its issue is parked until its own sub-agents have finished. */
  awaits_subagents: Type.Boolean(),
  /** How it ended; null while active. */
  outcome: Nullable(OneOf(subagentOutcomes)),
  /** Its last message on its issue; null while active, and if there was none. */
  result_markdown: Nullable(Type.String()),
  /** Cost of its own runs, as far as they are kept. */
  cost_usd: Type.Number(),
  created_at: Timestamp,
  ended_at: Nullable(Timestamp),
});
export type Subagent = Static<typeof Subagent>;

const read = { method: 'GET', auth: BEARER, role: 'viewer', status: 200, tx: 'none' } as const;

export const subagentEndpoints = {
  ofAgent: endpoint({
    ...read,
    id: 'subagents.of-agent',
    path: '/api/agents/{agentId}/subagents',
    scope: { by: 'agent', param: 'agentId' },
    response: Type.Array(Subagent),
    doc: 'All descendants of an agent, each after its parent; finished ones are listed as long as the trash is kept. The newest 200.',
  }),
  ofIssue: endpoint({
    ...read,
    id: 'subagents.of-issue',
    path: '/api/issues/{issueId}/subagents',
    scope: { by: 'issue', param: 'issueId' },
    response: Type.Array(Subagent),
    doc: 'The sub-agents spawned for an issue and their descendants, each after its parent. The newest 200.',
  }),
};
