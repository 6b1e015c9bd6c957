/** Which act does what. */
import type { Dialect } from '@acp/core';
import { sendJson } from '../http/answer.ts';
import type { Params, RpcRequest } from '../json-rpc/messages.ts';
import { cancel, getTask, listAll, send } from './acts.ts';
import type { A2aCaller } from './caller.ts';
import { type Act, type Method, refused } from './protocol.ts';
import { deletePush, getPush, listPush, setPush } from './push.ts';
import { streamMessage, subscribe } from './streams.ts';

type Answer = (
  caller: A2aCaller,
  params: Params,
  dialect: Dialect,
  wait_ms: number,
) => Promise<object | null>;

/** Those that are answered once. */
const answers: Readonly<Partial<Record<Act, Answer>>> = {
  send,
  get: getTask,
  list: listAll,
  cancel,
  push_set: setPush,
  push_get: getPush,
  push_list: listPush,
  push_delete: deletePush,
  extended_card: () => Promise.reject(refused('no_extended_card', 'there is no extended card')),
};

/** @param wait_ms how long a send may wait for its task @throws RpcError, or a ServiceError of the act behind it */
export async function dispatch(
  caller: A2aCaller,
  request: RpcRequest,
  { act, dialect }: Method,
  wait_ms: number,
): Promise<void> {
  if (act === 'stream') return streamMessage(caller, request, dialect);
  if (act === 'subscribe') return subscribe(caller, request, dialect);
  const result = await answers[act]!(caller, request.params, dialect, wait_ms);
  return sendJson(caller.response, 200, JSON.stringify({ jsonrpc: '2.0', id: request.id, result }));
}
