/** Pure rules of an agent's status (decisions 2, Agent; 7.36). */
import type { AgentStatus } from '@acp/contract';

/** Statuses in which an agent may be woken; `active` is woken like `idle`. In SQL: `wakeableAgentStatuses`. */
export const wakeableStatuses = ['idle', 'active', 'running', 'error'] as const;

export function isWakeable(status: string): boolean {
  return (wakeableStatuses as readonly string[]).includes(status);
}

/** Statuses that a beginning run turns into `running`: all the others say that a human holds the agent back. */
export const startableStatuses: AgentStatus[] = ['idle', 'active', 'error'];
