import type { Agent } from '@acp/contract';

/** Without sub-agents whose work is over: they stand with those that spawned them, and nothing is given to them. */
export function workingAgents(agents: readonly Agent[]): Agent[] {
  return agents.filter(({ parent_agent_id: parent, status }) => parent === null || status !== 'terminated');
}
