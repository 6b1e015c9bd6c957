import type { Actor, UserActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { forbidden, notFound, said } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordInstanceAct } from '../activity/index.ts';
import type { Mailing } from '../messages/index.ts';
import { recordSecurityEvents } from '../security/index.ts';
import { assertFreshWhereOwn } from './fresh-sign-in.ts';
import { mailPasswordChange } from './mail-user.ts';
import type { UserRow } from './present.ts';
import { closeUserSessions } from './sessions.ts';

const { users } = schema;

/**
 * Sets the user's own password and ends all other sessions.
 * @param verified_hash of the current password, which was verified outside of the transaction
 * @throws forbidden if the password was changed in the meantime
 */
export async function changePassword(
  tx: Tx,
  actor: UserActor,
  { verified_hash, new_hash }: { verified_hash: string; new_hash: string },
  mailing: Mailing | null = null,
): Promise<void> {
  const current = and(eq(users.id, actor.user_id), eq(users.password_hash, verified_hash));
  const changed = await tx
    .update(users)
    .set({ password_hash: new_hash, updated_at: sql`now()` })
    .where(current)
    .returning();
  const [user] = changed;
  if (!user) throw forbidden('current password is wrong');
  await closeUserSessions(tx, actor.user_id, actor.session_id);
  await recordInstanceAct(tx, actor, 'user.password_changed', { user_id: actor.user_id });
  await noteChange(tx, actor, user, mailing);
}

/**
 * Sets a user's password and ends the user's sessions, except an admin's own current one.
 * @throws forbidden for one's own account without a recent sign-in, since the current password is not asked for here
 */
export async function resetPassword(
  tx: Tx,
  actor: Actor,
  user_id: string,
  password_hash: string,
  mailing: Mailing | null = null,
): Promise<void> {
  await assertFreshWhereOwn(tx, actor, user_id);
  const changed = await tx
    .update(users)
    .set({ password_hash, updated_at: sql`now()` })
    .where(eq(users.id, user_id))
    .returning();
  const [user] = changed;
  if (!user) throw notFound();
  const own = actor.kind === 'user' && actor.user_id === user_id ? actor.session_id : null;
  await closeUserSessions(tx, user_id, own);
  await recordInstanceAct(tx, actor, 'user.password_reset', { user_id });
  await noteChange(tx, actor, user, mailing);
}

/** Notifies the owner, if the address is verified. */
async function noteChange(tx: Tx, actor: Actor, user: UserRow, mailing: Mailing | null): Promise<void> {
  const own = actor.kind === 'user' && actor.user_id === user.id;
  await recordSecurityEvents(tx, [{ kind: 'password.changed', user_id: user.id, subject: actor.name }]);
  if (mailing !== null && user.email_verified_at !== null)
    await mailPasswordChange(
      tx,
      user,
      mailing,
      own ? said`by someone who is signed in to it` : said`by an administrator`,
    );
}
