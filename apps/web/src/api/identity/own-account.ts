/**
 * Changes to one's own account that need the current password. Wrong passwords count like failed logins, with the session
 * as the address: a stolen session is no better for guessing than the login page. Passwords are hashed and verified
 * outside of transactions.
 */
import type { MyProfile, UpdateMe, UserActor } from '@acp/contract';
import {
  changePassword,
  clearLoginFailures,
  findUser,
  hashSentPassword,
  reserveLoginAttempt,
  updateMe,
  verifyPassword,
} from '@acp/core';
import type { Tx } from '@acp/db';
import { forbidden, rateLimited, unauthenticated } from '@acp/kernel';
import type { Services } from '../../http/services.ts';

type Transactions = Pick<Services, 'transaction'>;
type Means = Pick<Services, 'transaction' | 'mailing'>;

/** @throws forbidden for a wrong current password, rateLimited after five of them */
export async function changeOwnPassword(
  tx: Tx,
  services: Means,
  actor: UserActor,
  form: { current_password: string; new_password: string },
): Promise<void> {
  const verified_hash = await confirmPassword(tx, services, actor, form.current_password);
  const new_hash = await hashSentPassword(tx, form.new_password, [actor.name]);
  await services.transaction((inner) =>
    changePassword(inner, actor, { verified_hash, new_hash }, services.mailing),
  );
}

/** @throws like `changeOwnPassword` if the current password is given, and like `updateMe` */
export async function updateOwnRecord(
  tx: Tx,
  services: Means,
  actor: UserActor,
  { current_password, ...change }: UpdateMe,
): Promise<MyProfile> {
  const verified_hash =
    current_password === undefined ? null : await confirmPassword(tx, services, actor, current_password);
  return services.transaction((inner) =>
    updateMe(inner, actor, change, { verified_hash, mailing: services.mailing }),
  );
}

/** Returns the hash that the password was verified against; callers compare it once more when they act on it. */
async function confirmPassword(
  tx: Tx,
  { transaction }: Transactions,
  actor: UserActor,
  password: string,
): Promise<string> {
  const user = await findUser(tx, actor.user_id);
  if (!user) throw unauthenticated('not authenticated as user');
  const place = `session ${actor.session_id}`;
  const { locked_sec } = await transaction((inner) => reserveLoginAttempt(inner, user.email, place));
  if (locked_sec !== null) throw rateLimited('too many wrong passwords; try again later', locked_sec);
  const matches = await verifyPassword(user.password_hash, password);
  if (!matches || user.password_hash === null) throw forbidden('current password is wrong');
  await transaction((inner) => clearLoginFailures(inner, user.email, place));
  return user.password_hash;
}
