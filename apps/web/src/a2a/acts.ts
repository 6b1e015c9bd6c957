/** The acts that clients request, except for streams. */
import { restingTaskStates } from '@acp/contract';
import {
  cancelTask,
  listTasks,
  putPushConfig,
  receiveMessage,
  type StoredFile,
  type Task,
  writeSendResult,
  writeTask,
  type Dialect,
} from '@acp/core';
import type { Params } from '../json-rpc/messages.ts';
import { type A2aCaller, requireLicense, show, taskNamed, translated, writerOf } from './caller.ts';
import { readPush } from './push.ts';
import {
  readSentMessage,
  readTaskId,
  readTaskQuery,
  type SentFile,
  type SentMessage,
} from './read-params.ts';
import { TaskWatch } from './task-watch.ts';

export async function getTask(caller: A2aCaller, params: Params, dialect: Dialect): Promise<object> {
  const { id, history_length } = readTaskId(params);
  const task = await taskNamed(caller, id);
  const [shown] = await show(caller, [task], { history_length });
  return writeTask(writerOf(caller, dialect), shown!);
}

export async function listAll(caller: A2aCaller, params: Params, dialect: Dialect): Promise<object> {
  const query = readTaskQuery(params);
  const { tasks, next_cursor, total } = await listTasks(caller.tx, caller.agent.agent_id, query);
  const shown = await show(caller, tasks, query);
  const writer = writerOf(caller, dialect);
  return {
    tasks: shown.map((each) => writeTask(writer, each)),
    nextPageToken: next_cursor ?? '',
    // The number on this page, as the protocol's test kit reads it.
    pageSize: shown.length,
    totalSize: total,
  };
}

export async function cancel(caller: A2aCaller, params: Params, dialect: Dialect): Promise<object> {
  requireLicense(caller);
  const { id } = readTaskId(params);
  await caller.services
    // In 0.3 a cancelled task can't be cancelled again; in 1.0 cancelling is idempotent.
    .change(caller.agent.company_id, async (tx) => cancelTask(tx, caller.agent, id, dialect === '1.0'))
    .catch((error: unknown) => {
      throw translated(error, 'not_cancelable');
    });
  const [shown] = await show(caller, [await taskNamed(caller, id)], {});
  return writeTask(writerOf(caller, dialect), shown!);
}

/** Accepts the message and, if the client wants that, waits for the task to rest. */
export async function send(
  caller: A2aCaller,
  params: Params,
  dialect: Dialect,
  wait_ms: number,
): Promise<object> {
  const message = readSentMessage(params, dialect);
  const { waits, history_length } = message;
  const task = await take(caller, message, dialect);
  const rested = waits ? await resting(caller, task, wait_ms) : task;
  const [shown] = await show(caller, [rested], { history_length });
  return writeSendResult(writerOf(caller, dialect), shown!);
}

/** @throws RpcError if the message can't be accepted */
export async function take(caller: A2aCaller, message: SentMessage, dialect: Dialect): Promise<Task> {
  requireLicense(caller);
  const config = message.push && readPush(message.push, caller);
  const { agent, services } = caller;
  const { vault, push } = services;
  const { task_id } = await storing(caller, message.files, [], async (files) =>
    services.change(agent.company_id, async (tx) => {
      const receipt = await receiveMessage(tx, agent, { ...message, files });
      if (config) await putPushConfig(tx, agent, receipt.task_id, { config, dialect }, vault, push);
      return receipt;
    }),
  ).catch((error: unknown) => {
    throw translated(error, 'unsupported');
  });
  return taskNamed(caller, task_id);
}

/** Stores each file before the transaction begins; files that the transaction does not keep are removed. */
async function storing<T>(
  caller: A2aCaller,
  files: readonly SentFile[],
  stored: readonly StoredFile[],
  keep: (files: readonly StoredFile[]) => Promise<T>,
): Promise<T> {
  const [file, ...rest] = files;
  if (file === undefined) return keep(stored);
  const place = ['attachments', caller.agent.company_id] as const;
  return caller.services.files.putBytes(place, file.bytes, file, async (placed) =>
    storing(caller, rest, [...stored, placed], keep),
  );
}

/** Returns the task once it rests, or as it is when time is up, the client has left or too many are already waiting. */
async function resting(caller: A2aCaller, task: Task, wait_ms: number): Promise<Task> {
  const { agent, hub, response } = caller;
  if (hub === null || wait_ms === 0 || restingTaskStates.includes(task.state)) return task;
  const { company_id } = agent;
  const watch = await TaskWatch.openIfFree(hub, { actor: agent, company_id, task_id: task.id, response });
  if (watch === null) return task;
  const over = setTimeout(() => watch.close(), wait_ms);
  try {
    let now = await taskNamed(caller, task.id);
    while (!restingTaskStates.includes(now.state) && (await watch.changed()))
      now = await taskNamed(caller, task.id);
    return now;
  } finally {
    clearTimeout(over);
    watch.close();
  }
}
