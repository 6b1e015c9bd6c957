/** Streams of a task: its current state, then each change, until it rests. Every event answers the same request. */
import { endedTaskStates, restingTaskStates, type TaskState } from '@acp/contract';
import {
  agentCommentsAfter,
  type Task,
  type TaskArtifact,
  taskArtifacts,
  artifactEvent,
  statusEvent,
  writeSendResult,
  type Writer,
  type Dialect,
} from '@acp/core';
import { unavailable } from '@acp/kernel';
import type { RpcRequest } from '../json-rpc/messages.ts';
import { endEventStream, openEventStream } from '../live/event-stream.ts';
import { take } from './acts.ts';
import { type A2aCaller, show, taskNamed, writerOf } from './caller.ts';
import { refused } from './protocol.ts';
import { readSentMessage, readTaskId } from './read-params.ts';
import { TaskWatch } from './task-watch.ts';

export async function streamMessage(caller: A2aCaller, request: RpcRequest, dialect: Dialect): Promise<void> {
  const message = readSentMessage(request.params, dialect);
  const task = await take(caller, message, dialect);
  await follow(caller, task.id, request, {
    dialect,
    history_length: message.history_length,
    over: restingTaskStates,
    isTaken: true,
  });
}

/** @throws RpcError in 1.0 for a finished task, which never changes again */
export async function subscribe(caller: A2aCaller, request: RpcRequest, dialect: Dialect): Promise<void> {
  const { id } = readTaskId(request.params);
  const task = await taskNamed(caller, id);
  if (dialect === '1.0' && endedTaskStates.includes(task.state))
    throw refused('unsupported', `the task is ${task.state}`);
  // In 1.0 a subscriber stays with the task while it waits for input, too.
  const over = dialect === '1.0' ? endedTaskStates : restingTaskStates;
  await follow(caller, task.id, request, { dialect, history_length: 0, over });
}

interface Following {
  dialect: Dialect;
  history_length: number | undefined;
  /** States in which the stream ends. */
  over: readonly TaskState[];
  /** A message was accepted for the task, so the client is sent the task in any case. */
  isTaken?: boolean;
}

async function follow(
  caller: A2aCaller,
  task_id: string,
  { id }: RpcRequest,
  { dialect, history_length, over, isTaken = false }: Following,
): Promise<void> {
  const { agent, hub, response } = caller;
  if (hub === null) throw unavailable('this process has no live stream');
  const { company_id } = agent;
  const beat = () => void (response.headersSent && response.write(':\n\n'));
  const watched = { actor: agent, company_id, task_id, response, beat };
  const watch = await (isTaken ? TaskWatch.openIfFree(hub, watched) : TaskWatch.open(hub, watched));
  const tell = (result: object) =>
    response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
  try {
    const [shown] = await show(caller, [await taskNamed(caller, task_id)], { history_length });
    const { task, artifacts = [] } = shown!;
    const writer = writerOf(caller, dialect);
    openEventStream(response);
    tell(writeSendResult(writer, shown!));
    const seen = new Seen(task, artifacts);
    if (over.includes(task.state)) {
      // In 0.3 a stream ends with an explicit final event.
      if (dialect === '0.3') tell(statusEvent(writer, task, true));
    } else if (watch !== null) {
      while (!over.includes(seen.state) && (await watch.changed()))
        for (const event of await seen.news(caller, writer)) tell(event);
    }
  } finally {
    watch?.close();
  }
  endEventStream(response);
}

/** Tracks what a stream has sent so far. */
class Seen {
  #task: Task;
  #heard: Task['last_comment'];
  readonly #artifacts: Map<string, number>;

  constructor(task: Task, artifacts: readonly TaskArtifact[]) {
    this.#task = task;
    this.#heard = task.last_comment;
    this.#artifacts = new Map(artifacts.map(({ id, changed_at }) => [id, changed_at.getTime()]));
  }

  get state(): TaskState {
    return this.#task.state;
  }

  /** Events for whatever is new: artifacts, the agent's messages, the state. */
  async news(caller: A2aCaller, writer: Writer): Promise<object[]> {
    const task = await taskNamed(caller, this.#task.id);
    const artifacts = (await taskArtifacts(caller.tx, [task.id])).get(task.id) ?? [];
    const events = artifacts
      .filter(({ id, changed_at }) => this.#artifacts.get(id) !== changed_at.getTime())
      .map((artifact) => {
        this.#artifacts.set(artifact.id, artifact.changed_at.getTime());
        return artifactEvent(writer, task, artifact);
      });
    const words = await agentCommentsAfter(caller.tx, task.id, this.#heard);
    const rests = restingTaskStates.includes(task.state);
    const turned = task.state !== this.#task.state;
    for (const said of words) {
      this.#heard = said;
      // The final message is sent with the state below.
      if (said.id === task.said?.id && turned) continue;
      events.push(statusEvent(writer, { ...task, state: rests ? 'working' : task.state, said }, false));
    }
    if (turned) events.push(statusEvent(writer, task, rests));
    this.#task = task;
    return events;
  }
}
