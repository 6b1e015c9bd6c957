/** Companies and their members (specification, Companies, members, invites, join requests). */
import { Type, type Static } from 'typebox';
import { companyRoles } from './actor.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { EXAMPLE_ID } from './example-id.ts';
import {
  JsonObject,
  KeepKeys,
  Name,
  Nullable,
  OneOf,
  Patch,
  SearchQuery,
  Timestamp,
  Uuid,
} from './schema-kit.ts';

export const Slug = Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', maxLength: 100 });

export const Company = Type.Object({
  id: Uuid,
  name: Type.String(),
  slug: Type.String(),
  home_dir: Nullable(Type.String()),
  agent_default_adapter_type: Type.String(),
  agent_default_adapter_config: JsonObject,
  agent_default_heartbeat_enabled: Type.Boolean(),
  agent_default_heartbeat_interval_sec: Type.Integer(),
  default_worker_tags: Type.Array(Type.String()),
  require_second_factor: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Company = Static<typeof Company>;

export const Membership = Type.Object({
  id: Uuid,
  company_id: Uuid,
  user_id: Uuid,
  role: OneOf(companyRoles),
  joined_at: Timestamp,
});
export type Membership = Static<typeof Membership>;

/** A member in the company's user list: the membership plus the user's name and e-mail address. */
export const CompanyUser = Type.Object({
  ...Membership.properties,
  email: Type.String(),
  display_name: Type.String(),
});
export type CompanyUser = Static<typeof CompanyUser>;

export const CreateCompany = Type.Object({ name: Name, slug: Slug });
export const UpdateCompany = Patch({
  /** Members need a second factor, or have to set one up before they can continue. */
  require_second_factor: Type.Boolean(),
  name: Name,
  slug: Slug,
  home_dir: Nullable(Type.String({ minLength: 1, maxLength: 4096 })),
  /** Tags a worker needs for the company's tasks, unless agent or project override them (decisions 7.24). */
  default_worker_tags: Type.Array(Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000]*$' }), {
    maxItems: 50,
  }),
});
export type UpdateCompany = Static<typeof UpdateCompany>;
export const AddMember = Type.Object({ user_id: Uuid, role: OneOf(companyRoles) });
export const AddCompanyUser = Type.Object({ user_id: Uuid, role: Type.Optional(OneOf(companyRoles)) });
export const ChangeRole = Type.Object({ role: OneOf(companyRoles), keep_keys: KeepKeys });
export const RemoveMember = Type.Object({ keep_keys: KeepKeys });

const byCompany = { by: 'company', param: 'companyId' } as const;

const asJson = { method: 'GET', auth: ['user'], status: 200, tx: 'none', negotiated: true } as const;

export const companyEndpoints = {
  list: endpoint({
    ...asJson,
    id: 'companies.list',
    path: '/companies',
    role: 'none',
    scope: { by: 'none' },
    query: Type.Object(SearchQuery),
    response: Type.Array(Company),
    paged: true,
    doc: 'The user’s companies, all of them for an instance admin, newest first; at most 1,000 or 4 MB unless a limit is given. With `Accept: application/json`; otherwise it is a page.',
  }),
  get: endpoint({
    ...asJson,
    id: 'companies.get',
    path: '/companies/{companyId}',
    role: 'viewer',
    scope: byCompany,
    response: Company,
    doc: 'One company. With `Accept: application/json`; otherwise it is a page.',
  }),
  create: endpoint({
    id: 'companies.create',
    method: 'POST',
    path: '/api/companies',
    auth: BEARER,
    role: 'instance_admin',
    scope: { by: 'none' },
    body: CreateCompany,
    response: Company,
    status: 201,
    tx: 'write',
    example: { name: 'Harbour Books', slug: 'harbour' },
    doc: 'Creates a company; the creator becomes its admin.',
  }),
  update: endpoint({
    id: 'companies.update',
    method: 'PATCH',
    path: '/api/companies/{companyId}',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    body: UpdateCompany,
    response: Company,
    status: 200,
    tx: 'write',
    example: { name: 'Harbour Books', default_worker_tags: ['linux'] },
    doc: 'Changes name, slug, default worker tags or home directory, which must lie in a folder of the company.',
  }),
  delete: endpoint({
    id: 'companies.delete',
    method: 'DELETE',
    path: '/api/companies/{companyId}',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    response: Type.Object({ deleted: Uuid }),
    status: 200,
    tx: 'write',
    doc: 'Moves the company to the trash: its keys are revoked, its runs cancelled, its schedules stopped.',
  }),
  listMembers: endpoint({
    id: 'companies.list-members',
    method: 'GET',
    path: '/api/companies/{companyId}/members',
    auth: BEARER,
    role: 'viewer',
    scope: byCompany,
    query: Type.Object(SearchQuery),
    response: Type.Array(Membership),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The memberships of the company, newest first. `q` is looked for in the members’ names.',
  }),
  addMember: endpoint({
    id: 'companies.add-member',
    method: 'POST',
    path: '/api/companies/{companyId}/members',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    body: AddMember,
    response: Membership,
    status: 201,
    tx: 'write',
    example: { user_id: EXAMPLE_ID, role: 'member' },
    doc: 'Makes a user a member; 409 if the user already is one, 404 if there is no such user.',
  }),
  changeMember: endpoint({
    id: 'companies.change-member',
    method: 'PATCH',
    path: '/api/companies/{companyId}/members/{userId}',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    body: ChangeRole,
    response: Membership,
    status: 200,
    tx: 'write',
    example: { role: 'member' },
    doc: 'Changes a member’s role. Keys, triggers and webhooks that the new role could not create end, unless `keep_keys` is true.',
  }),
  removeMember: endpoint({
    id: 'companies.remove-member',
    method: 'DELETE',
    path: '/api/companies/{companyId}/members/{userId}',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    query: RemoveMember,
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Removes a member and closes the user’s live streams. Keys, triggers and webhooks of that person end, unless `keep_keys=true`.',
  }),
  listUsers: endpoint({
    id: 'companies.list-users',
    method: 'GET',
    path: '/api/companies/{companyId}/users',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    query: Type.Object(SearchQuery),
    response: Type.Array(CompanyUser),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The members with names and addresses, newest first.',
  }),
  addUser: endpoint({
    id: 'companies.add-user',
    method: 'POST',
    path: '/api/companies/{companyId}/users',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    body: AddCompanyUser,
    response: Membership,
    status: 201,
    tx: 'write',
    example: { user_id: EXAMPLE_ID, role: 'member' },
    doc: 'Makes a user a member; the role defaults to `member`.',
  }),
  changeUser: endpoint({
    id: 'companies.change-user',
    method: 'PATCH',
    path: '/api/companies/{companyId}/users/{userId}',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    body: ChangeRole,
    response: Membership,
    status: 200,
    tx: 'write',
    example: { role: 'member' },
    doc: 'Changes a member’s role. Keys, triggers and webhooks that the new role could not create end, unless `keep_keys` is true.',
  }),
  removeUser: endpoint({
    id: 'companies.remove-user',
    method: 'DELETE',
    path: '/api/companies/{companyId}/users/{userId}',
    auth: BEARER,
    role: 'admin',
    scope: byCompany,
    query: RemoveMember,
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Removes a member, like `companies.remove-member`.',
  }),
};
