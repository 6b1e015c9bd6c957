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

/** What says an agent as a choice for who is to do something: a paused one does not start. */
export const assigneeLabel = (about: string, status: string | null): string =>
  status === 'paused' ? t`${about}, paused` : about;
