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
import { invalidParams } from '../json-rpc/messages.ts';
import type { LiveHub } from '../live/hub.ts';
import { refused } from './protocol.ts';

/** A client, identified by its key for the agent. */
export interface A2aCaller extends Pick<Context<typeof a2aEndpoints.call>, 'tx' | 'services' | 'response'> {
  agent: AgentActor;
  /** The agent's public view. */
  available: AvailableAgent;
  hub: LiveHub | null;
}

/** @throws notFound if the caller is not the agent that the path names, or the agent is not externally available */
export async function callerOf(
  { actor, subject, tx, services, response }: Context<typeof a2aEndpoints.call>,
  hub: LiveHub | null,
): Promise<A2aCaller> {
  if (actor.kind !== 'agent' || actor.agent_id !== subject.id) throw notFound();
  const available = await availableAgent(tx, subject.company_id, subject.id);
  if (available === undefined) throw notFound();
  return { agent: actor, available, hub, tx, services, response };
}

/** Default and maximum number of history messages. */
export const MAX_HISTORY = 100;

interface ShownParts {
  history_length?: number | undefined;
  artifacts?: boolean;
}

/** Tasks read in one go: each may have 4 MB of history, and as much of artifacts. */
const AT_ONCE = 10;
const MOST_BYTES = 16 * 1024 * 1024;

/** Tasks with their histories and artifacts. @throws RpcError if they are too much for one answer */
export async function show(
  caller: A2aCaller,
  tasks: readonly Task[],
  parts: ShownParts,
): Promise<ShownTask[]> {
  const shown: ShownTask[] = [];
  let bytes = 0;
  for (let from = 0; from < tasks.length; from += AT_ONCE) {
    const some = await showSome(caller, tasks.slice(from, from + AT_ONCE), parts);
    shown.push(...some);
    // One is never too large.
    if (tasks.length === 1) continue;
    for (const each of some) bytes += JSON.stringify(each).length;
    if (bytes > MOST_BYTES)
      throw invalidParams('the answer would be too large: ask for fewer tasks, or a shorter history');
  }
  return shown;
}

async function showSome(
  { tx }: A2aCaller,
  tasks: readonly Task[],
  { history_length = MAX_HISTORY, artifacts = true }: ShownParts,
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

const taskNotFound = () => refused('task_not_found', 'task not found');

/** @throws RpcError if the task is not the caller's */
export async function taskNamed({ tx, agent }: A2aCaller, id: string): Promise<Task> {
  const task = await readTask(tx, agent.agent_id, id);
  if (task === undefined) throw taskNotFound();
  return task;
}

/** The endpoint's row lets readers in without a license; this guards whatever changes something. */
export function requireLicense({ services }: A2aCaller): void {
  services.instance.requireEntitlement({ ...a2aEndpoints.call, while_read_only: undefined });
}

/** @param clash how a conflict is reported */
export function translated(error: unknown, clash: 'unsupported' | 'not_cancelable'): unknown {
  if (!(error instanceof ServiceError)) return error;
  if (error.kind === 'not_found') return taskNotFound();
  return error.kind === 'conflict' ? refused(clash, error.message) : error;
}
