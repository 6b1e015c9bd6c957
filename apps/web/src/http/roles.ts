/** Least roles (specification, Authentication 6; decisions 7.1): what the endpoint table's `role` column means. */
import { permits } from '@acp/contract';
import type { Actor, AgentActor, BoardUserActor, CompanyRole, EndpointRow, UserActor } from '@acp/contract';
import { forbidden, unauthenticated } from '@acp/kernel';

/** Callers of a tenant's routes. Workers and the system come in by other doors. */
export type TenantActor = UserActor | AgentActor | BoardUserActor;

const ranks: Record<CompanyRole, number> = { viewer: 0, member: 1, admin: 2 };

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

/** For rows that admit sessions only: tells it to the type checker. Throws 401. */
export function requireUser(actor: Actor): UserActor {
  if (actor.kind !== 'user') throw unauthenticated('not authenticated as user');
  return actor;
}

/** Throws 403 unless the caller, already known to see the company, may do what the row does. */
export function requireRole(
  row: Pick<EndpointRow, 'role' | 'permission' | 'people_only'>,
  actor: Actor,
  companyId: string,
): void {
  if (row.role === 'instance_admin') {
    if (!isInstanceAdmin(actor)) throw forbidden('instance admin only');
  } else if (row.role !== 'none') {
    const role = roleIn(actor, companyId);
    if (role === undefined || ranks[role] < ranks[row.role]) throw forbidden(`${row.role} role required`);
  }
  if (row.people_only && actor.kind === 'agent') throw forbidden('not for agents');
  if (row.permission && actor.kind === 'agent' && !permits(actor.permissions, row.permission)) {
    throw forbidden(`permission withheld: ${row.permission}`);
  }
}
