/** Rules for an agent's status (decisions 2, Agent; 7.36). */
import type { AgentStatus } from '@acp/contract';
import { schema } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';

const { agents } = schema;

/** Statuses in which an agent may be woken; `active` is treated like `idle`. In SQL: `wakeableAgentStatuses`. */
export const wakeableStatuses = ['idle', 'active', 'running', 'error'] as const;

export function isWakeable(status: string): boolean {
  return (wakeableStatuses as readonly string[]).includes(status);
}

/** Statuses that become `running` when a run starts: all others mean that a person holds the agent back. */
export const startableStatuses: AgentStatus[] = ['idle', 'active', 'error'];

/** The status of an agent that may work: `running` while a run of it does. */
export const runningOr = (status: AgentStatus): SQL =>
  sql`case when exists (select from heartbeat_runs run where run.agent_id = ${agents.id} and run.status = 'running')
    then 'running' else ${status}::text end`;
