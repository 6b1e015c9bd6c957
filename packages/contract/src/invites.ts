/** Ways into a company: invites, join requests, and keys for integrations (decisions 3, Board-user keys; 7.3). */
import { Type, type Static } from 'typebox';
import { companyRoles } from './actor.ts';
import { Membership } from './companies.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { EXAMPLE_ID } from './example-id.ts';
import { Email } from './identity.ts';
import {
  AnsweredBy,
  KeyDays,
  Nullable,
  OneOf,
  PageQuery,
  SearchQuery,
  Timestamp,
  Uuid,
} from './schema-kit.ts';

export const Invite = Type.Object({
  id: Uuid,
  company_id: Uuid,
  /**
   * Shown to the company's admins only; without an encryption key only in the creation's response. Null also while whoever created
   * the invite may not invite.
   */
  token: Nullable(Type.String()),
  role: OneOf(companyRoles),
  created_by: Nullable(Uuid),
  expires_at: Timestamp,
  accepted_by: Nullable(Uuid),
  accepted_at: Nullable(Timestamp),
  created_at: Timestamp,
  /** It can be accepted: neither used nor expired, and whoever created it may still invite. */
  is_open: Type.Boolean(),
});
export type Invite = Static<typeof Invite>;

const joinRequestStatuses = ['pending', 'approved', 'rejected'] as const;
export const JoinRequest = Type.Object({
  id: Uuid,
  company_id: Uuid,
  user_id: Uuid,
  status: OneOf(joinRequestStatuses),
  message: Nullable(Type.String()),
  resolved_by: Nullable(Uuid),
  resolved_at: Nullable(Timestamp),
  created_at: Timestamp,
});
export type JoinRequest = Static<typeof JoinRequest>;

export const JoinRequestSummary = Type.Omit(JoinRequest, ['message']);
export type JoinRequestSummary = Static<typeof JoinRequestSummary>;

export const BoardUserKey = Type.Object({
  id: Uuid,
  company_id: Uuid,
  role: OneOf(companyRoles),
  key_prefix: Type.String(),
  label: Nullable(Type.String()),
  created_by_user_id: AnsweredBy,
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
  /** Null: valid until revoked. */
  expires_at: Nullable(Timestamp),
});
export type BoardUserKey = Static<typeof BoardUserKey>;
/** The response to creating a key, and the only one that contains it. */
export const NewBoardUserKey = Type.Object({ ...BoardUserKey.properties, raw_key: Type.String() });
export type NewBoardUserKey = Static<typeof NewBoardUserKey>;

export const CreateInvite = Type.Object({
  role: OneOf(companyRoles),
  /** At most ten years. */
  expires_in_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 87_600 })),
  /** Address that the link is mailed to; 409 if no mail server is configured. */
  email: Type.Optional(Nullable(Email)),
});
export const CreateJoinRequest = Type.Object({
  company_id: Uuid,
  message: Type.Optional(Nullable(Type.String({ maxLength: 10_000, pattern: '^[^\\u0000]*$' }))),
});
export const ResolveJoinRequest = Type.Object({ status: OneOf(['approved', 'rejected']) });
export const MintBoardUserKey = Type.Object({
  role: OneOf(companyRoles),
  label: Type.Optional(Nullable(Type.String({ maxLength: 200, pattern: '^[^\\u0000]*$' }))),
  expires_in_days: KeyDays,
});

const byCompany = { by: 'company', param: 'companyId' } as const;

export const inviteEndpoints = {
  list: endpoint({
    id: 'invites.list',
    method: 'GET',
    path: '/api/companies/{companyId}/invites',
    auth: BEARER,
    role: 'viewer',
    scope: byCompany,
    query: Type.Object(PageQuery),
    response: Type.Array(Invite),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The invites, newest first; `token` is null for everyone but admins and, without SERVICE_ENCRYPTION_KEY, for them too. `is_open` is false for those that can no longer be accepted: used, expired, or created by someone who may no longer invite.',
  }),
  create: endpoint({
    id: 'invites.create',
    method: 'POST',
    path: '/api/companies/{companyId}/invites',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    body: CreateInvite,
    response: Invite,
    status: 201,
    tx: 'write',
    issues_secret: 'token',
    example: { role: 'member', expires_in_hours: 24 },
    doc: 'Creates an invite that anyone with its token can use, once, within 72 hours by default. The holder opens `/invites/{token}`.',
  }),
  revoke: endpoint({
    id: 'invites.revoke',
    method: 'DELETE',
    path: '/api/companies/{companyId}/invites/{inviteId}',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Revokes an invite that has not been accepted; 404 for any other.',
  }),
  accept: endpoint({
    id: 'invites.accept',
    method: 'POST',
    path: '/api/invites/{token}/accept',
    auth: ['user'],
    role: 'none',
    scope: { by: 'none' },
    response: Membership,
    status: 201,
    tx: 'write',
    doc: 'Makes the signed-in user a member; 404 for an expired, used or unknown token, 409 for a member.',
  }),
  listJoinRequests: endpoint({
    id: 'join-requests.list',
    method: 'GET',
    path: '/api/companies/{companyId}/join-requests',
    auth: BEARER,
    role: 'viewer',
    scope: byCompany,
    query: Type.Object(PageQuery),
    response: Type.Array(JoinRequest),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The requests to join the company, newest first.',
  }),
  requestToJoin: endpoint({
    id: 'join-requests.create',
    method: 'POST',
    path: '/api/join-requests',
    auth: ['user'],
    role: 'none',
    scope: { by: 'none' },
    body: CreateJoinRequest,
    response: JoinRequest,
    status: 201,
    also: [200],
    tx: 'write',
    example: { company_id: EXAMPLE_ID, message: 'I keep your books.' },
    doc: 'Requests membership: 404 for an unknown company, 409 for a member, 200 with the pending request if there is one.',
  }),
  resolveJoinRequest: endpoint({
    id: 'join-requests.resolve',
    method: 'PATCH',
    path: '/api/join-requests/{joinRequestId}',
    auth: BEARER,
    role: 'admin',
    scope: { by: 'join_request', param: 'joinRequestId' },
    body: ResolveJoinRequest,
    response: JoinRequest,
    status: 200,
    tx: 'write',
    example: { status: 'approved' },
    doc: 'Approves (the user becomes a member) or rejects; 409 if already resolved.',
  }),
};

export const boardUserKeyEndpoints = {
  list: endpoint({
    id: 'board-user-keys.list',
    method: 'GET',
    path: '/api/companies/{companyId}/board-user-keys',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    query: Type.Object(SearchQuery),
    response: Type.Array(BoardUserKey),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The keys of the company’s integrations, newest first; without the keys themselves.',
  }),
  mint: endpoint({
    id: 'board-user-keys.mint',
    method: 'POST',
    path: '/api/companies/{companyId}/board-user-keys',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    body: MintBoardUserKey,
    response: NewBoardUserKey,
    status: 201,
    tx: 'write',
    issues_secret: 'raw_key',
    example: { role: 'member', label: 'integration', expires_in_days: 90 },
    doc: 'Creates a key for an integration, with a role in this company; `raw_key` is shown only once.',
  }),
  delete: endpoint({
    id: 'board-user-keys.delete',
    method: 'DELETE',
    path: '/api/board-user-keys/{keyId}',
    auth: BEARER,
    role: 'admin',
    scope: { by: 'board_user_key', param: 'keyId' },
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Revokes the key immediately.',
  }),
};
