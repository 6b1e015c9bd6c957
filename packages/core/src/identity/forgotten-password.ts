/** The link for a forgotten password: it sets one without signing in, so the second factor is asked for as usual. */
import { schema, type Tx } from '@acp/db';
import { asciiLowerCase, notFound, said } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { recordInstanceAct } from '../activity/index.ts';
import type { Mailing } from '../messages/index.ts';
import { recordSecurityEvents, type SignInPlace } from '../security/index.ts';
import { endLinks, findLink, spendLink } from './account-links.ts';
import { endWaysIn, type Proof } from './claimed-account.ts';
import { clearLockouts } from './login-attempts.ts';
import { lockUser } from './lock-user.ts';
import { mailPasswordChange } from './mail-user.ts';
import { obstacleOf } from './password-reset-requests.ts';
import { actorOf, type UserRow } from './present.ts';
import { closeUserSessions } from './sessions.ts';
import { findUser } from './users.ts';

const { users } = schema;

const spent = () => notFound('this link is no longer valid; request a new one');

/** The user whose password the link sets; undefined for a spent or expired link. */
export async function previewPasswordReset(tx: Tx, token: string): Promise<UserRow | undefined> {
  const link = await findLink(tx, 'reset_password', token);
  const user = link && (await findUser(tx, link.user_id));
  return user && (await opens(tx, link, user)) ? user : undefined;
}

/**
 * Sets the password; ends all sessions, other links and the login lockout. An unverified address is proved by this, which claims
 * the account.
 * @throws notFound for a spent or expired link
 */
export async function resetForgottenPassword(
  tx: Tx,
  token: string,
  password_hash: string,
  place: SignInPlace,
  mailing: Mailing,
): Promise<Proof> {
  const link = await findLink(tx, 'reset_password', token);
  if (!link) throw spent();
  const user = await lockUser(tx, link.user_id);
  if (!(await opens(tx, link, user)) || !(await spendLink(tx, link))) throw spent();
  const { id: user_id, email } = user;
  const claimed = user.email_verified_at === null;
  if (claimed) await endWaysIn(tx, user_id);
  await tx
    .update(users)
    .set({
      password_hash,
      email_verified_at: sql`coalesce(${users.email_verified_at}, now())`,
      updated_at: sql`now()`,
    })
    .where(eq(users.id, user_id));
  await closeUserSessions(tx, user_id);
  // Someone with the former password may have requested another address.
  await endLinks(tx, user_id, 'confirm_email');
  await clearLockouts(tx, email);
  await recordInstanceAct(tx, actorOf(user), 'user.password_reset', { user_id, by: 'mail' });
  const change = {
    kind: 'password.changed',
    user_id,
    subject: email,
    place,
    details: { by: 'mail' },
  } as const;
  await recordSecurityEvents(tx, [change]);
  await mailPasswordChange(tx, user, mailing, said`by a link that was sent to this address`);
  return { user, claimed };
}

/** Only if the account is unchanged since the link was sent. */
async function opens(tx: Tx, link: { email: string }, user: UserRow): Promise<boolean> {
  const same = asciiLowerCase(link.email) === asciiLowerCase(user.email);
  return user.is_active && same && (await obstacleOf(tx, user)) === null;
}
