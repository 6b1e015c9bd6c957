/** Statistics of a company and its agents, as used by charts. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';
import { runStatuses } from './runs.ts';

export const DayFigures = Type.Object({
  /** `2026-11-22`, in UTC. */
  day: Type.String(),
  runs: Type.Integer(),
  succeeded: Type.Integer(),
  failed: Type.Integer(),
  /** Done issues, by the day of their last change. */
  issues_done: Type.Integer(),
  cost_usd: Type.Number(),
});
export type DayFigures = Static<typeof DayFigures>;

/** Over the agent's latest twenty runs. */
export const AgentFigures = Type.Object({
  agent_id: Uuid,
  last_run_id: Nullable(Uuid),
  last_run_at: Nullable(Timestamp),
  last_status: Nullable(OneOf(runStatuses)),
  /** Runs that succeeded or failed, and those that succeeded. */
  ended: Type.Integer(),
  succeeded: Type.Integer(),
  /** Oldest first. */
  runs: Type.Array(Type.Object({ status: OneOf(runStatuses), cost_usd: Type.Number() })),
  /** The issue it is working on. */
  current_issue: Nullable(Type.Object({ id: Uuid, identifier: Type.String(), title: Type.String() })),
});
export type AgentFigures = Static<typeof AgentFigures>;

const ofCompany = {
  method: 'GET',
  auth: BEARER,
  role: 'viewer',
  scope: { by: 'company', param: 'companyId' },
  status: 200,
  tx: 'none',
} as const;

export const figureEndpoints = {
  days: endpoint({
    ...ofCompany,
    id: 'figures.days',
    path: '/api/companies/{companyId}/figures/days',
    response: Type.Array(DayFigures),
    doc: 'Runs, failures, finished issues and spending per day over the last 14 days, oldest first.',
  }),
  agents: endpoint({
    ...ofCompany,
    id: 'figures.agents',
    path: '/api/companies/{companyId}/figures/agents',
    response: Type.Array(AgentFigures),
    doc: 'Statistics per agent: its last run, how many of its latest twenty succeeded and what they cost, and its current issue; at most 1,000 agents.',
  }),
};
