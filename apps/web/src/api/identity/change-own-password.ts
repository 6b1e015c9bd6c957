import type { UserActor } from '@acp/contract';
import {
  changePassword,
  clearLoginFailures,
  findUser,
  hashPassword,
  reserveLoginAttempt,
  verifyPassword,
} from '@acp/core';
import type { Tx } from '@acp/db';
import { forbidden, rateLimited, unauthenticated } from '@acp/kernel';
import type { Services } from '../../http/services.ts';

/**
 * The current password is asked for, and wrong ones count like failed logins from this session as the address: a stolen
 * session guesses no better than a stranger at the login page. Passwords are hashed outside of transactions.
 * @throws forbidden for a wrong current password, rateLimited after five of them
 */
export async function changeOwnPassword(
  tx: Tx,
  { transaction }: Pick<Services, 'transaction'>,
  actor: UserActor,
  form: { current_password: string; new_password: string },
): Promise<void> {
  const user = await findUser(tx, actor.user_id);
  if (!user) throw unauthenticated('not authenticated as user');
  const place = `session ${actor.session_id}`;
  const { locked_sec } = await transaction((inner) => reserveLoginAttempt(inner, user.email, place));
  if (locked_sec !== null) throw rateLimited('too many wrong passwords; try again later', locked_sec);
  const matches = await verifyPassword(user.password_hash, form.current_password);
  if (!matches || user.password_hash === null) throw forbidden('current password is wrong');
  const hashes = { verified_hash: user.password_hash, new_hash: await hashPassword(form.new_password) };
  await transaction(async (inner) => {
    await clearLoginFailures(inner, user.email, place);
    await changePassword(inner, actor, hashes);
  });
}
