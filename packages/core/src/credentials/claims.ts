/**
 * The ways in which an account passes to the owner of its address, after someone else may have used it: whatever was created with
 * it ends, since that person has been shown the keys (docs/adr/0009, 0051).
 */
import type { Tx } from '@acp/db';
import { endPairingCodes } from '../channels/index.ts';
import { revokeInvitesOf } from '../companies/index.ts';
import {
  actorOf,
  type Proof,
  type ProviderIdentity,
  recognizeUser,
  resetForgottenPassword,
  type UserRow,
} from '../identity/index.ts';
import { settleCredentials } from './settle-credentials.ts';

/**
 * The user behind the identity: one who has signed in with it before, or the owner of the address verified by the provider.
 * Undefined for a stranger. @throws forbidden for a deactivated account
 */
export async function findProviderUser(tx: Tx, identity: ProviderIdentity): Promise<UserRow | undefined> {
  const proof = await recognizeUser(tx, identity);
  if (proof) await settleClaim(tx, proof);
  return proof?.user;
}

/** @throws like `resetForgottenPassword` */
export async function completePasswordReset(
  ...[tx, ...reset]: Parameters<typeof resetForgottenPassword>
): Promise<void> {
  await settleClaim(tx, await resetForgottenPassword(tx, ...reset));
}

async function settleClaim(tx: Tx, { user, claimed }: Proof): Promise<void> {
  if (!claimed) return;
  const [actor, user_id] = [actorOf(user), user.id];
  await settleCredentials(tx, actor, { user_id, company_id: null, keep_keys: false, claimed });
  await revokeInvitesOf(tx, actor, user_id);
  await endPairingCodes(tx, user_id);
}
