/** Minimum roles (specification, Authentication 6; decisions 7.1): the meaning of `role` in endpoints and tools. */
import { forbidden, said } from '@acp/kernel';
import { type Actor, type AgentPermission, type CompanyRole, permits } from './actor.ts';
import type { EndpointRow } from './endpoint.ts';

const ranks: Record<CompanyRole, number> = { viewer: 0, member: 1, admin: 2 };

/** Each in full: pages show them in the reader's language. */
const missing: Record<CompanyRole, () => Error> = {
  viewer: () => forbidden('viewer role required'),
  member: () => forbidden('member role required'),
  admin: () => forbidden('admin role required'),
};

export function isInstanceAdmin(actor: Actor): boolean {
  return actor.kind === 'user' && actor.instance_role === 'admin';
}

/** The caller's role in a company; undefined for a stranger. An agent has a member's rights, narrowed by its permissions. */
export function roleIn(actor: Actor, companyId: string): CompanyRole | undefined {
  switch (actor.kind) {
    case 'user':
      return actor.instance_role === 'admin' ? 'admin' : actor.roles[companyId];
    case 'agent':
      return actor.company_id === companyId ? 'member' : undefined;
    case 'board_user':
      return actor.company_id === companyId ? actor.role : undefined;
    default:
      return undefined;
  }
}

/** Throws 403 if the caller, already known to see the company, may not do what the endpoint does. */
export function requireRole(
  row: Pick<EndpointRow, 'role' | 'permission' | 'people_only'>,
  actor: Actor,
  companyId: string,
): void {
  if (row.role === 'instance_admin') {
    if (!isInstanceAdmin(actor)) throw forbidden('instance admin only');
  } else if (row.role !== 'none') {
    const role = roleIn(actor, companyId);
    if (role === undefined || ranks[role] < ranks[row.role]) throw missing[row.role]();
  }
  if (row.people_only && actor.kind === 'agent') throw forbidden('not for agents');
  if (row.permission) requirePermission(actor, row.permission);
}

/** Permissions restrict agents only. Throws 403. */
export function requirePermission(actor: Actor, permission: AgentPermission): void {
  if (actor.kind === 'agent' && !permits(actor.permissions, permission))
    throw forbidden(said`permission withheld: ${permission}`);
}
