import type { Agent } from '@acp/contract';

/** Without sub-agents whose work is over: they stand with those that spawned them, and nothing is given to them. */
export function workingAgents(agents: readonly Agent[]): Agent[] {
  return agents.filter(({ parent_agent_id: parent, status }) => parent === null || status !== 'terminated');
}

/** Those that something can be given to, and the one that has it: a form that is saved must not take it away unseen. */
export function agentChoices(agents: readonly Agent[], current: string): { value: string; label: string }[] {
  const offered = new Set(workingAgents(agents).map(({ id }) => id)).add(current);
  return agents.filter(({ id }) => offered.has(id)).map(({ id, name }) => ({ value: id, label: name }));
}
