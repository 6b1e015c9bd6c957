/** Maps acts to their implementations. */
import { type Dialect, MAX_TASK_ARTIFACTS } from '@acp/core';
import { sendJson } from '../http/answer.ts';
import { MAX_JSON_BYTES } from '../http/json-body.ts';
import type { Params, RpcRequest } from '../json-rpc/messages.ts';
import { cancel, getTask, listAll, send } from './acts.ts';
import { type A2aCaller, MAX_HISTORY } from './caller.ts';
import { cardOfAgent, placeOf } from './cards.ts';
import type { Act, Method } from './protocol.ts';
import { inCamelCase } from './proto-names.ts';
import { deletePush, getPush, listPush, setPush } from './push.ts';
import { streamMessage, subscribe } from './streams.ts';

type Answer = (
  caller: A2aCaller,
  params: Params,
  dialect: Dialect,
  wait_ms: number,
) => Promise<object | null>;

/** Acts with a single response. */
const answers: Readonly<Partial<Record<Act, Answer>>> = {
  send,
  get: getTask,
  list: listAll,
  cancel,
  push_set: setPush,
  push_get: getPush,
  push_list: listPush,
  push_delete: deletePush,
  extended_card: extendedCard,
};

/** @param wait_ms how long a send may wait for its task @throws RpcError, or a ServiceError of the act behind it */
export async function dispatch(
  caller: A2aCaller,
  request: RpcRequest,
  { act, dialect }: Method,
  wait_ms: number,
): Promise<void> {
  const params = dialect === '1.0' ? inCamelCase(request.params) : request.params;
  if (act === 'stream') return streamMessage(caller, { ...request, params }, dialect);
  if (act === 'subscribe') return subscribe(caller, { ...request, params }, dialect);
  const result = await answers[act]!(caller, params, dialect, wait_ms);
  return sendJson(caller.response, 200, JSON.stringify({ jsonrpc: '2.0', id: request.id, result }));
}

/** The card for callers of the agent, which includes the limits. */
async function extendedCard(
  { available, services }: A2aCaller,
  _params: Params,
  dialect: Dialect,
  wait_ms: number,
): Promise<object> {
  const version = dialect === '1.0' ? dialect : undefined;
  return cardOfAgent(available, placeOf(services), version, {
    waitSeconds: wait_ms / 1000,
    maxRequestBytes: MAX_JSON_BYTES,
    maxHistoryMessages: MAX_HISTORY,
    maxArtifacts: MAX_TASK_ARTIFACTS,
  });
}
