/** Who may call a tenant's routes; the contract defines the meaning of the endpoint table's `role` column. */
import type { Actor, UserActor } from '@acp/contract';
import { unauthenticated } from '@acp/kernel';

export { isInstanceAdmin, requireRole, roleIn } from '@acp/contract';

/** For rows that admit sessions only: narrows the type. Throws 401. */
export function requireUser(actor: Actor): UserActor {
  if (actor.kind !== 'user') throw unauthenticated('not authenticated as user');
  return actor;
}
