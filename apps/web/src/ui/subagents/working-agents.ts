import type { AgentOutline } from '@acp/core';
import { currentLocale, t } from '../kit/language.ts';

const byName = <A extends AgentOutline>(agents: readonly A[]): A[] =>
  agents.toSorted((a, b) => a.name.localeCompare(b.name, currentLocale()));

/** By name, without terminated sub-agents: they are listed with those that spawned them, and receive no work. */
export function workingAgents<A extends AgentOutline>(agents: readonly A[]): A[] {
  return byName(
    agents.filter(({ parent_agent_id: parent, status }) => parent === null || status !== 'terminated'),
  );
}

/** Agents that people can start something with, by name: sub-agents get their orders from those that spawned them. */
export function lastingAgents<A extends AgentOutline>(agents: readonly A[]): A[] {
  return byName(agents.filter(({ parent_agent_id: parent }) => parent === null));
}

/** Agents that can be assigned something, plus the current one: saving a form must not silently unassign it. */
export function agentChoices(
  agents: readonly AgentOutline[],
  current: string,
): { value: string; label: string }[] {
  const offered = new Set(workingAgents(agents).map(({ id }) => id)).add(current);
  return byName(agents)
    .filter(({ id }) => offered.has(id))
    .map(({ id, name }) => ({ value: id, label: name }));
}

/** An agent as a choice for who is to do something: a paused one does not start. */
export const assigneeChoice = (
  { id, name, status }: AgentOutline,
  about: string = name,
): { value: string; label: string } => ({
  value: id,
  label: status === 'paused' ? t`${about}, paused` : about,
});
