import type { Agent } from '@acp/contract';

/** Without sub-agents whose work is over: they stand with those that spawned them, and nothing is given to them. */
export function workingAgents(agents: readonly Agent[]): Agent[] {
  return agents.filter(({ parent_agent_id: parent, status }) => parent === null || status !== 'terminated');
}

/** Whom a person begins something with, by name: sub-agents have their orders from those that spawned them. */
export function lastingAgents(agents: readonly Agent[]): Agent[] {
  return agents
    .filter(({ parent_agent_id: parent }) => parent === null)
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

/** Those that something can be given to, and the one that has it: a form that is saved must not take it away unseen. */
export function agentChoices(agents: readonly Agent[], current: string): { value: string; label: string }[] {
  const offered = new Set(workingAgents(agents).map(({ id }) => id)).add(current);
  return agents.filter(({ id }) => offered.has(id)).map(({ id, name }) => ({ value: id, label: name }));
}
