/** Keys and other lasting credentials by the person who answers for them (docs/adr/0051). */
import { Type, type Static } from 'typebox';
import { companyRoles } from './actor.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, OneOf, PageQuery, Timestamp, Uuid } from './schema-kit.ts';

export const credentialKinds = [
  'board_user_key',
  'agent_key',
  'routine_trigger',
  'webhook',
  'repository_webhook',
  'worker',
] as const;
export type CredentialKind = (typeof credentialKinds)[number];

export const MadeCredential = Type.Object({
  kind: OneOf(credentialKinds),
  /** The key, trigger, webhook or worker; the project of a repository’s webhook. */
  id: Uuid,
  /** Null for a worker, which belongs to no company. */
  company_id: Nullable(Uuid),
  /** Label of a key or trigger, host of a webhook, name of a worker or project. */
  label: Type.String(),
  /** It ends when its creator has less than this role. */
  least_role: OneOf([...companyRoles, 'instance_admin']),
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
});
export type MadeCredential = Static<typeof MadeCredential>;

const list = {
  method: 'GET',
  auth: BEARER,
  query: Type.Object(PageQuery),
  response: Type.Array(MadeCredential),
  status: 200,
  tx: 'none',
  paged: true,
} as const;

export const credentialEndpoints = {
  ofMember: endpoint({
    ...list,
    id: 'credentials.of-member',
    path: '/api/companies/{companyId}/members/{userId}/credentials',
    role: 'admin',
    scope: { by: 'company', param: 'companyId' },
    doc: 'What a user has created in the company that works by itself: keys, webhook triggers, webhooks; newest first. 404 for someone who neither is a member nor created anything.',
  }),
  ofUser: endpoint({
    ...list,
    id: 'credentials.of-user',
    path: '/api/users/{userId}/credentials',
    role: 'instance_admin',
    scope: { by: 'none' },
    doc: 'The same in all companies, and the workers whose key the user was shown.',
  }),
};
