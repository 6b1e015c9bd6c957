/** The agent-to-agent protocol in its two dialects: method names and errors. */
import type { Dialect } from '@acp/core';
import { RpcError } from '../json-rpc/messages.ts';

export const VERSIONS: readonly string[] = ['1.0', '0.3'];

/** A client's request, independent of the dialect. */
export type Act =
  | 'send'
  | 'stream'
  | 'get'
  | 'list'
  | 'cancel'
  | 'subscribe'
  | 'push_set'
  | 'push_get'
  | 'push_list'
  | 'push_delete'
  | 'extended_card';

export interface Method {
  act: Act;
  dialect: Dialect;
}

const names: Readonly<Record<Act, readonly [v0: string, v1: string]>> = {
  send: ['message/send', 'SendMessage'],
  stream: ['message/stream', 'SendStreamingMessage'],
  get: ['tasks/get', 'GetTask'],
  list: ['tasks/list', 'ListTasks'],
  cancel: ['tasks/cancel', 'CancelTask'],
  subscribe: ['tasks/resubscribe', 'SubscribeToTask'],
  push_set: ['tasks/pushNotificationConfig/set', 'CreateTaskPushNotificationConfig'],
  push_get: ['tasks/pushNotificationConfig/get', 'GetTaskPushNotificationConfig'],
  push_list: ['tasks/pushNotificationConfig/list', 'ListTaskPushNotificationConfigs'],
  push_delete: ['tasks/pushNotificationConfig/delete', 'DeleteTaskPushNotificationConfig'],
  extended_card: ['agent/getAuthenticatedExtendedCard', 'GetExtendedAgentCard'],
};

/** By name: a method called by its name of 1.0 is answered in 1.0. A map, since clients may send `constructor` too. */
export const methods: ReadonlyMap<string, Method> = new Map(
  Object.entries(names).flatMap(([act, [v0, v1]]): [string, Method][] => [
    [v0, { act: act as Act, dialect: '0.3' }],
    [v1, { act: act as Act, dialect: '1.0' }],
  ]),
);

/** The protocol's own errors: code, and the reason that 1.0 adds. */
const refusals = {
  task_not_found: [-32_001, 'TASK_NOT_FOUND'],
  not_cancelable: [-32_002, 'TASK_NOT_CANCELABLE'],
  push_unsupported: [-32_003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
  unsupported: [-32_004, 'UNSUPPORTED_OPERATION'],
  content_type: [-32_005, 'CONTENT_TYPE_NOT_SUPPORTED'],
  version: [-32_009, 'VERSION_NOT_SUPPORTED'],
} as const;

export type Refusal = keyof typeof refusals;

export function refused(refusal: Refusal, message: string, metadata: Record<string, string> = {}): RpcError {
  const [code, reason] = refusals[refusal];
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: 'a2a-protocol.org',
    metadata,
  };
  return new RpcError(code, message, { data: [info] });
}

/** @param header `A2A-Version`; absent or empty means 0.3. The method alone decides the dialect. */
export function requireVersion(header: string | undefined): void {
  const version = header?.trim() ?? '';
  if (version === '' || VERSIONS.some((each) => version === each || version.startsWith(`${each}.`))) return;
  throw refused('version', `version ${version.slice(0, 50)} is not supported`, {
    supported: VERSIONS.join(', '),
  });
}
