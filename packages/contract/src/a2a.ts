/**
 * Agent to agent (specification, MCP and agent-to-agent federation): how others see and call our agents. The message shapes
 * cover both dialects of the protocol, 0.3 and 1.0; docs/a2a.md tells them apart.
 */
import { Type, type Static } from 'typebox';
import { endpoint } from './endpoint.ts';
import { JsonObject, Nullable, Uuid } from './schema-kit.ts';

/** States of a task, in neither dialect's spelling. */
export const taskStates = [
  'submitted',
  'working',
  'input_required',
  'auth_required',
  'completed',
  'canceled',
  'failed',
  'rejected',
] as const;
export type TaskState = (typeof taskStates)[number];
export const endedTaskStates: readonly TaskState[] = ['completed', 'canceled', 'failed', 'rejected'];
/** In these states nothing happens until the client sends something. */
export const restingTaskStates: readonly TaskState[] = [
  ...endedTaskStates,
  'input_required',
  'auth_required',
];

/** A stored part of a message; `attachment_id` names the file that its bytes were saved as. */
export const TaskPart = Type.Object({
  text: Type.Optional(Type.String()),
  data: Type.Optional(Type.Unknown()),
  url: Type.Optional(Type.String()),
  attachment_id: Type.Optional(Uuid),
  filename: Type.Optional(Type.String()),
  media_type: Type.Optional(Type.String()),
});
export type TaskPart = Static<typeof TaskPart>;

const Id = Type.String({ maxLength: 200 });
const MediaType = Type.String({ maxLength: 200 });
const Filename = Type.String({ maxLength: 255 });
const Url = Type.String({ maxLength: 2000 });
const Metadata = Type.Optional(Nullable(JsonObject));

const MessagePart = Type.Object({
  text: Type.Optional(Type.String()),
  data: Type.Optional(Type.Unknown()),
  raw: Type.Optional(Type.String()),
  url: Type.Optional(Url),
  filename: Type.Optional(Filename),
  mediaType: Type.Optional(MediaType),
  // 0.3, and its earlier spelling.
  kind: Type.Optional(Type.Enum(['text', 'file', 'data'])),
  type: Type.Optional(Type.Enum(['text', 'file', 'data'])),
  file: Type.Optional(
    Type.Object({
      bytes: Type.Optional(Type.String()),
      uri: Type.Optional(Url),
      name: Type.Optional(Filename),
      mimeType: Type.Optional(MediaType),
    }),
  ),
});
export type A2aMessagePart = Static<typeof MessagePart>;

export const A2aMessage = Type.Object({
  messageId: Type.String({ minLength: 1, maxLength: 200 }),
  contextId: Type.Optional(Nullable(Id)),
  taskId: Type.Optional(Nullable(Id)),
  role: Type.Enum(['user', 'ROLE_USER']),
  parts: Type.Array(MessagePart, { minItems: 1, maxItems: 100 }),
  metadata: Metadata,
});
export type A2aMessage = Static<typeof A2aMessage>;

const HistoryLength = Type.Optional(Nullable(Type.Integer({ minimum: 0 })));

export const A2aSend = Type.Object({
  message: A2aMessage,
  configuration: Type.Optional(
    Nullable(
      Type.Object({
        acceptedOutputModes: Type.Optional(Nullable(Type.Array(MediaType, { maxItems: 100 }))),
        historyLength: HistoryLength,
        blocking: Type.Optional(Type.Boolean()),
        returnImmediately: Type.Optional(Type.Boolean()),
        pushNotificationConfig: Type.Optional(Nullable(JsonObject)),
        taskPushNotificationConfig: Type.Optional(Nullable(JsonObject)),
      }),
    ),
  ),
});
export type A2aSend = Static<typeof A2aSend>;

export const A2aNamesTask = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 200 }),
  historyLength: HistoryLength,
});

export const A2aListTasks = Type.Object({
  contextId: Type.Optional(Nullable(Id)),
  status: Type.Optional(Nullable(Type.String({ maxLength: 50 }))),
  pageSize: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 100 }))),
  pageToken: Type.Optional(Nullable(Type.String({ maxLength: 500 }))),
  historyLength: HistoryLength,
  statusTimestampAfter: Type.Optional(Nullable(Type.String({ maxLength: 50 }))),
  includeArtifacts: Type.Optional(Nullable(Type.Boolean())),
});
export type A2aListTasks = Static<typeof A2aListTasks>;

/** A push configuration: 1.0 uses it as is, 0.3 wraps it in `pushNotificationConfig`. */
export const A2aPushConfig = Type.Object({
  id: Type.Optional(Nullable(Id)),
  url: Type.String({ minLength: 1, maxLength: 2000 }),
  token: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  authentication: Type.Optional(
    Nullable(
      Type.Object({
        scheme: Type.Optional(Type.String({ maxLength: 100 })),
        // 0.3
        schemes: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 20 })),
        credentials: Type.Optional(Nullable(Type.String({ maxLength: 4000 }))),
      }),
    ),
  ),
});
export type A2aPushConfig = Static<typeof A2aPushConfig>;

export const A2aNamesPush = Type.Object({
  id: Type.Optional(Nullable(Id)),
  taskId: Type.Optional(Nullable(Id)),
  pushNotificationConfigId: Type.Optional(Nullable(Id)),
});

const open = {
  method: 'GET',
  auth: [],
  role: 'none',
  scope: { by: 'none' },
  response: JsonObject,
  status: 200,
  // When the client already has the card with this `ETag`.
  also: [304],
  tx: 'none',
  feature: 'a2a',
} as const;

export const a2aEndpoints = {
  directory: endpoint({
    ...open,
    id: 'a2a.directory',
    path: '/companies/{companyId}/.well-known/agent-card.json',
    doc: 'The agents of the company that are externally available, at most 1,000 or 4 MB, as an agent card with `agents`. In the 1.0 format if the header `A2A-Version` asks for it, otherwise in both.',
  }),
  card: endpoint({
    ...open,
    id: 'a2a.card',
    path: '/companies/{companyId}/agents/{agentId}/agent-card.json',
    doc: 'The card of one externally available agent: its capabilities, its URL and the key it requires.',
  }),
  call: endpoint({
    id: 'a2a.call',
    method: 'POST',
    path: '/companies/{companyId}/agents/{agentId}/a2a',
    // No session: a page on another site could exploit its cookie.
    auth: ['agent', 'board_user'],
    role: 'none',
    scope: { by: 'agent', param: 'agentId' },
    body: Type.Unknown(),
    body_optional: true,
    response: Type.Unknown(),
    status: 200,
    tx: 'none',
    streams: true,
    errors: 'json_rpc',
    feature: 'a2a',
    // Reading tasks needs no license; methods that change something check for it themselves.
    while_read_only: true,
    example: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tasks/get',
      params: { id: 'd9428888-122b-41e1-b85c-61ad0b1bd4a8' },
    },
    doc: 'The agent-to-agent protocol, JSON-RPC in the dialects 0.3 and 1.0, chosen by the name of the method. The caller holds a key of the agent, which must be externally available; anyone else gets 404.',
  }),
};
