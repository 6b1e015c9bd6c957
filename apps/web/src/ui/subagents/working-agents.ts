import type { Agent } from '@acp/contract';
import { currentLocale, t } from '../kit/language.ts';

const byName = (agents: readonly Agent[]): Agent[] =>
  agents.toSorted((a, b) => a.name.localeCompare(b.name, currentLocale()));

/** By name, without terminated sub-agents: they are listed with those that spawned them, and receive no work. */
export function workingAgents(agents: readonly Agent[]): Agent[] {
  return byName(
    agents.filter(({ parent_agent_id: parent, status }) => parent === null || status !== 'terminated'),
  );
}

/** Agents that people can start something with, by name: sub-agents get their orders from those that spawned them. */
export function lastingAgents(agents: readonly Agent[]): Agent[] {
  return byName(agents.filter(({ parent_agent_id: parent }) => parent === null));
}

/** Agents that can be assigned something, plus the current one: saving a form must not silently unassign it. */
export function agentChoices(agents: readonly Agent[], current: string): { value: string; label: string }[] {
  const offered = new Set(workingAgents(agents).map(({ id }) => id)).add(current);
  return byName(agents)
    .filter(({ id }) => offered.has(id))
    .map(({ id, name }) => ({ value: id, label: name }));
}

/** An agent as a choice for who is to do something: a paused one does not start. */
export const assigneeChoice = (
  { id, name, status }: Agent,
  about: string = name,
): { value: string; label: string } => ({
  value: id,
  label: status === 'paused' ? t`${about}, paused` : about,
});
