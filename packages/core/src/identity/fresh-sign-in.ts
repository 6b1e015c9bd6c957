import type { Actor, UserActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { forbidden } from '@acp/kernel';
import { and, eq, gt, sql } from 'drizzle-orm';

const { sessions } = schema;

/** For this many minutes after a sign-in, its session may change how the account is signed in to. */
const FRESH_SIGN_IN_MINUTES = 15;

/**
 * An unattended or stolen session must not take over the account: credentials and the e-mail address can only be changed
 * shortly after a sign-in. @throws forbidden
 */
export async function assertFreshSignIn(tx: Tx, actor: UserActor): Promise<void> {
  if (actor.session_id !== null) {
    const since = sql`now() - make_interval(mins => ${FRESH_SIGN_IN_MINUTES})`;
    const mine = and(eq(sessions.id, actor.session_id), gt(sessions.created_at, since));
    if ((await tx.$count(sessions, mine)) > 0) return;
  }
  throw forbidden('sign in again to change this, or give the current password');
}

/** The same for an admin who uses rights over all accounts on their own. */
export async function assertFreshWhereOwn(tx: Tx, actor: Actor, user_id: string): Promise<void> {
  if (actor.kind === 'user' && actor.user_id === user_id) await assertFreshSignIn(tx, actor);
}
