import { a2aEndpoints, type AgentActor } from '@acp/contract';
import {
  type AvailableAgent,
  availableAgent,
  readTask,
  type Task,
  taskArtifacts,
  taskHistory,
  type ShownTask,
  type Writer,
  type Dialect,
} from '@acp/core';
import { notFound, ServiceError } from '@acp/kernel';
import type { Context } from '../http/handle.ts';
import type { LiveHub } from '../live/hub.ts';
import { refused } from './protocol.ts';

/** A client, by the key that it holds of the agent. */
export interface A2aCaller extends Pick<Context<typeof a2aEndpoints.call>, 'tx' | 'services' | 'response'> {
  agent: AgentActor;
  /** The same, as strangers see it. */
  available: AvailableAgent;
  hub: LiveHub | null;
}

/** @throws notFound for whoever is not the agent that the path names, and where that is not externally available */
export async function callerOf(
  { actor, subject, tx, services, response }: Context<typeof a2aEndpoints.call>,
  hub: LiveHub | null,
): Promise<A2aCaller> {
  if (actor.kind !== 'agent' || actor.agent_id !== subject.id) throw notFound();
  const available = await availableAgent(tx, subject.company_id, subject.id);
  if (available === undefined) throw notFound();
  return { agent: actor, available, hub, tx, services, response };
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

export const taskNotFound = () => refused('task_not_found', 'task not found');

/** @throws RpcError where it is not the caller's */
export async function taskNamed({ tx, agent }: A2aCaller, id: string): Promise<Task> {
  const task = await readTask(tx, agent.agent_id, id);
  if (task === undefined) throw taskNotFound();
  return task;
}

/** The row is open to readers of an instance without a license; this is for what changes something. */
export function requireLicense({ services }: A2aCaller): void {
  services.instance.requireEntitlement({ ...a2aEndpoints.call, while_read_only: undefined });
}

/** @param clash what a conflict means here */
export function translated(error: unknown, clash: 'unsupported' | 'not_cancelable'): unknown {
  if (!(error instanceof ServiceError)) return error;
  if (error.kind === 'not_found') return taskNotFound();
  return error.kind === 'conflict' ? refused(clash, error.message) : error;
}
