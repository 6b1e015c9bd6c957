/** Who may call a tenant's routes; what the endpoint table's `role` column means is the contract's. */
import type { Actor, UserActor } from '@acp/contract';
import { unauthenticated } from '@acp/kernel';

export { isInstanceAdmin, requireRole, roleIn } from '@acp/contract';

/** For rows that admit sessions only: tells it to the type checker. Throws 401. */
export function requireUser(actor: Actor): UserActor {
  if (actor.kind !== 'user') throw unauthenticated('not authenticated as user');
  return actor;
}
