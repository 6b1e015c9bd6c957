/** Peers: external services whose agents can be called over the agent-to-agent protocol (specification, A2A peer). */
import { Type, type Static } from 'typebox';
import { taskStates } from './a2a.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { deliveryStatuses } from './webhooks.ts';
import { Nullable, OneOf, PageQuery, Patch, SearchQuery, Timestamp, Uuid } from './schema-kit.ts';

/** An agent listed on a peer's card. */
export const PeerAgent = Type.Object({
  id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  url: Type.String(),
  /** The dialect used for calling it. */
  protocol_version: OneOf(['0.3', '1.0']),
  skills: Type.Array(Type.String()),
});
export type PeerAgent = Static<typeof PeerAgent>;
export const PeerAgents = Type.Array(PeerAgent);

export const peerStatuses = ['pending', 'healthy', 'failing'] as const;

export const Peer = Type.Object({
  id: Uuid,
  company_id: Uuid,
  label: Type.String(),
  url: Type.String(),
  has_api_key: Type.Boolean(),
  timeout_seconds: Type.Integer(),
  rate_limit_rpm: Type.Integer(),
  refresh_interval_seconds: Type.Integer(),
  local_preference_bias: Type.Number(),
  last_fetched_at: Nullable(Timestamp),
  last_fetch_error: Nullable(Type.String()),
  status: OneOf(peerStatuses),
  enabled: Type.Boolean(),
  /** From the most recently fetched card. */
  agents: PeerAgents,
  /** Calls since the peer was added, and how many of them failed. */
  calls: Type.Integer(),
  errors: Type.Integer(),
  last_call_at: Nullable(Timestamp),
  last_call_error: Nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Peer = Static<typeof Peer>;

/** Work delegated to an agent of the peer. */
export const PeerDelegation = Type.Object({
  /** The issue that tracks the remote task; null if it is in the trash. */
  issue_id: Nullable(Uuid),
  identifier: Nullable(Type.String()),
  title: Nullable(Type.String()),
  remote_agent: Type.String(),
  /** State of the task as last reported by the peer. */
  state: OneOf(taskStates),
  /** False: finished, or given up. */
  followed: Type.Boolean(),
  /** Consecutive failures, and the reason of the last one. */
  failures: Type.Integer(),
  error: Nullable(Type.String()),
  /** Reported by the peer so far; null: not reported. */
  cost_usd: Nullable(Type.Number()),
  created_at: Timestamp,
  changed_at: Timestamp,
});
export type PeerDelegation = Static<typeof PeerDelegation>;

/** A call to an agent of the peer. */
export const PeerCall = Type.Object({
  id: Uuid,
  issue_id: Nullable(Uuid),
  identifier: Nullable(Type.String()),
  remote_agent: Type.String(),
  /** In the dialect of the call. */
  method: Type.String(),
  ok: Type.Boolean(),
  error: Nullable(Type.String()),
  duration_ms: Type.Integer(),
  created_at: Timestamp,
});
export type PeerCall = Static<typeof PeerCall>;

const fields = {
  /** Agents use it before a colon: `label:Agent`. */
  label: Type.String({ minLength: 1, maxLength: 60, pattern: '^[\\p{L}\\p{N}][\\p{L}\\p{N} ._-]*$' }),
  /** URL of a card, or the base URL below which `/.well-known/agent-card.json` is served. */
  url: Type.String({ minLength: 1, maxLength: 2000 }),
};
const options = {
  timeout_seconds: Type.Integer({ minimum: 1, maximum: 600 }),
  rate_limit_rpm: Type.Integer({ minimum: 1, maximum: 10_000 }),
  refresh_interval_seconds: Type.Integer({ minimum: 30, maximum: 604_800 }),
  /** How much better than a local agent a peer's agent must match: 0 means no preference; 1 always prefers local ones. */
  local_preference_bias: Type.Number({ minimum: 0, maximum: 1 }),
};
const api_key = Type.String({ minLength: 1, maxLength: 4000, pattern: '^[\\x21-\\x7e]+$', writeOnly: true });

/** What an agent may request: the key is for an admin to supply. */
export const InstallPeer = Type.Object({ ...fields, ...Type.Partial(Type.Object(options)).properties });
export type InstallPeer = Static<typeof InstallPeer>;

export const CreatePeer = Type.Object({
  ...InstallPeer.properties,
  api_key: Type.Optional(Nullable(api_key)),
});
export type CreatePeer = Static<typeof CreatePeer>;

export const UpdatePeer = Patch({
  ...fields,
  ...options,
  api_key: Nullable(api_key),
  enabled: Type.Boolean(),
});
export type UpdatePeer = Static<typeof UpdatePeer>;

const ofCompany = {
  path: '/api/companies/{companyId}/a2a/peers',
  auth: BEARER,
  scope: { by: 'company', param: 'companyId' },
  feature: 'a2a',
} as const;
const one = {
  path: '/api/a2a/peers/{peerId}',
  auth: BEARER,
  scope: { by: 'peer', param: 'peerId' },
  feature: 'a2a',
} as const;

export const federationEndpoints = {
  list: endpoint({
    ...ofCompany,
    id: 'peers.list',
    method: 'GET',
    role: 'viewer',
    query: Type.Object(SearchQuery),
    response: Type.Array(Peer),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Peers of the company, newest first, each with the agents on its card; without keys; at most 1,000 or 4 MB unless `limit` is given.',
  }),
  create: endpoint({
    ...ofCompany,
    id: 'peers.create',
    method: 'POST',
    role: 'admin',
    body: CreatePeer,
    response: Peer,
    status: 201,
    tx: 'write',
    example: { label: 'Acme', url: 'https://acme.example/companies/d9428888-122b-41e1-b85c-61ad0b1bd4a8' },
    doc: 'Adds a peer, whose card is fetched immediately and then at its interval. A key without SERVICE_ENCRYPTION_KEY: 503; a taken label: 409.',
  }),
  get: endpoint({
    ...one,
    id: 'peers.get',
    method: 'GET',
    role: 'viewer',
    response: Peer,
    status: 200,
    tx: 'none',
    doc: 'One peer.',
  }),
  update: endpoint({
    ...one,
    id: 'peers.update',
    method: 'PATCH',
    role: 'member',
    permission: 'federation.call',
    body: UpdatePeer,
    response: Peer,
    status: 200,
    tx: 'write',
    example: { rate_limit_rpm: 30 },
    doc: 'Changes a peer. Only admins can change URL and key (403), and another URL requires the key again, or null.',
  }),
  delete: endpoint({
    ...one,
    id: 'peers.delete',
    method: 'DELETE',
    role: 'member',
    permission: 'federation.call',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Removes the peer. Work delegated to it is no longer tracked; its issues stay.',
  }),
  refresh: endpoint({
    ...one,
    path: '/api/a2a/peers/{peerId}/refresh',
    id: 'peers.refresh',
    method: 'POST',
    role: 'member',
    permission: 'federation.call',
    response: Peer,
    status: 200,
    tx: 'none',
    doc: 'Has a scheduler fetch the card now. Errors are in `last_fetch_error`; 503 if no scheduler responds.',
  }),
  listDelegations: endpoint({
    ...one,
    path: '/api/a2a/peers/{peerId}/delegations',
    id: 'peers.list-delegations',
    method: 'GET',
    role: 'viewer',
    query: Type.Object(PageQuery),
    response: Type.Array(PeerDelegation),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Work delegated to the peer’s agents, newest first, each with its issue, the state of the remote task, its cost and the last error.',
  }),
  listCalls: endpoint({
    ...one,
    path: '/api/a2a/peers/{peerId}/calls',
    id: 'peers.list-calls',
    method: 'GET',
    role: 'viewer',
    query: Type.Object(PageQuery),
    response: Type.Array(PeerCall),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Calls to the peer’s agents, newest first; kept as long as events. Calls that only ask for a task’s state are included if they failed.',
  }),
};

/** A push notification for a task: sent, waiting or failed. */
export const PushDelivery = Type.Object({
  id: Uuid,
  /** The task: the issue that the client is notified about. */
  issue_id: Uuid,
  /** The client's id for the push configuration. */
  config_id: Type.String(),
  /** Only the host of the URL: the rest may contain tokens. */
  host: Type.String(),
  /** False: nothing more is sent there, except when resent by hand. */
  enabled: Type.Boolean(),
  status: OneOf(deliveryStatuses),
  attempts: Type.Integer(),
  response_status: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  created_at: Timestamp,
  finished_at: Nullable(Timestamp),
});
export type PushDelivery = Static<typeof PushDelivery>;

export const pushEndpoints = {
  listDeliveries: endpoint({
    ...ofCompany,
    path: '/api/companies/{companyId}/a2a/push-deliveries',
    id: 'peers.list-pushes',
    method: 'GET',
    role: 'admin',
    query: Type.Object({ ...PageQuery, status: Type.Optional(OneOf(deliveryStatuses)) }),
    response: Type.Array(PushDelivery),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Push notifications of tasks, newest first; with `status=failed` those that failed for good, which `POST /api/webhook-deliveries/{deliveryId}/redeliver` sends again.',
  }),
  notify: endpoint({
    path: '/api/a2a/notifications/{issueId}',
    id: 'peers.notify',
    method: 'POST',
    auth: [],
    role: 'none',
    scope: { by: 'none' },
    feature: 'a2a',
    body_kind: 'raw',
    response: null,
    status: 204,
    tx: 'none',
    doc: 'For peers to announce that a delegated task has changed, with the token they were given (`X-A2A-Notification-Token`) and, if they sign, a signature. The task is then fetched; the body is ignored.',
  }),
};

/** Awaited by a refresh. */
export const federationCommands = {
  'refresh-peer': {
    payload: Type.Object({ peer_id: Uuid }),
    result: Type.Object({}),
    deadline_sec: 30,
    taken_by: 'any',
    doc: 'Fetches a peer’s card.',
  },
} as const;
