import type { a2aEndpoints, AgentActor } from '@acp/contract';
import {
  availableAgent,
  type Task,
  taskArtifacts,
  taskHistory,
  type ShownTask,
  type Writer,
  type Dialect,
} from '@acp/core';
import { notFound } from '@acp/kernel';
import type { Context } from '../http/handle.ts';
import type { LiveHub } from '../live/hub.ts';

/** A client, by the key that it holds of the agent. */
export interface A2aCaller extends Pick<Context<typeof a2aEndpoints.call>, 'tx' | 'services' | 'response'> {
  agent: AgentActor;
  hub: LiveHub | null;
}

/** @throws notFound for whoever is not the agent that the path names, and where that is not externally available */
export async function callerOf(
  { actor, subject, tx, services, response }: Context<typeof a2aEndpoints.call>,
  hub: LiveHub | null,
): Promise<A2aCaller> {
  if (actor.kind !== 'agent' || actor.agent_id !== subject.id) throw notFound();
  if ((await availableAgent(tx, subject.company_id, subject.id)) === undefined) throw notFound();
  return { agent: actor, hub, tx, services, response };
}

/** Messages of a history where nothing else is asked for. */
export const MAX_HISTORY = 100;

/** Tasks with their histories and artifacts, each read for all at once. */
export async function show(
  { tx }: A2aCaller,
  tasks: readonly Task[],
  {
    history_length = MAX_HISTORY,
    artifacts = true,
  }: { history_length?: number | undefined; artifacts?: boolean },
): Promise<ShownTask[]> {
  const ids = tasks.map(({ id }) => id);
  const histories = await taskHistory(tx, ids, Math.min(history_length, MAX_HISTORY));
  const found = artifacts ? await taskArtifacts(tx, ids) : undefined;
  return tasks.map((task) => ({
    task,
    history: history_length === 0 ? undefined : (histories.get(task.id) ?? []),
    artifacts: found && (found.get(task.id) ?? []),
  }));
}

export const writerOf = ({ services }: A2aCaller, dialect: Dialect): Writer => ({
  dialect,
  public_url: services.public_url,
});
