/** Sub-agents (decisions 3): agents that agents spawn for one issue each. Made and awaited by action verbs. */
import { Type, type Static } from 'typebox';
import { agentRoles, agentStatuses } from './agents.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { issueStatuses } from './issues.ts';
import { Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';

/** How deep sub-agents may spawn others: below an ordinary agent so many levels. */
export const MAX_SUBAGENT_DEPTH = 3;
/** Of one agent, at once. */
export const MAX_LIVING_SUBAGENTS = 10;

export const subagentOutcomes = ['done', 'failed', 'cancelled', 'deleted'] as const;
export type SubagentOutcome = (typeof subagentOutcomes)[number];

export const Subagent = Type.Object({
  agent_id: Uuid,
  company_id: Uuid,
  parent_agent_id: Uuid,
  /** The issue that the parent worked on. */
  parent_issue_id: Uuid,
  issue_id: Uuid,
  name: Type.String(),
  role: OneOf(agentRoles),
  /** 1 to 3: below an ordinary agent. */
  depth: Type.Integer(),
  status: OneOf(agentStatuses),
  issue_identifier: Type.String(),
  issue_title: Type.String(),
  issue_status: OneOf(issueStatuses),
  /** Its issue is parked until its own sub-agents end. */
  awaits_subagents: Type.Boolean(),
  /** How it ended; null while it lives. */
  outcome: Nullable(OneOf(subagentOutcomes)),
  /** Its last words on its issue; null while it lives, and where there are none. */
  result_markdown: Nullable(Type.String()),
  /** Of its own runs, as far as they are kept. */
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
    doc: 'The sub-agents below an agent, down to the last level, each behind its parent; those that ended stay for as long as the trash keeps things. The newest 200.',
  }),
  ofIssue: endpoint({
    ...read,
    id: 'subagents.of-issue',
    path: '/api/issues/{issueId}/subagents',
    scope: { by: 'issue', param: 'issueId' },
    response: Type.Array(Subagent),
    doc: 'The sub-agents that were spawned for an issue, and those below them, each behind its parent. The newest 200.',
  }),
};
