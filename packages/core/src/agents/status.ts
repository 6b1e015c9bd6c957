/** Pure rules for an agent's status (decisions 2, Agent; 7.36). */
import type { AgentStatus } from '@acp/contract';

/** Statuses in which an agent may be woken; `active` is treated like `idle`. In SQL: `wakeableAgentStatuses`. */
export const wakeableStatuses = ['idle', 'active', 'running', 'error'] as const;

export function isWakeable(status: string): boolean {
  return (wakeableStatuses as readonly string[]).includes(status);
}

/** Statuses that become `running` when a run starts: all others mean that a person holds the agent back. */
export const startableStatuses: AgentStatus[] = ['idle', 'active', 'error'];
