/** Leads from a correct first factor to a session, or to the step that asks for the second factor. */
import { schema, type Tx } from '@acp/db';
import { rateLimited, unauthenticated, type Vault } from '@acp/kernel';
import { and, eq } from 'drizzle-orm';
import { recordSecurityEvents } from '../security/index.ts';
import { clearLoginFailures, reserveLoginAttempt, SECOND_FACTOR } from './login-attempts.ts';
import type { UserRow } from './present.ts';
import { useRecoveryCode } from './recovery-codes.ts';
import { userHasSecondFactor } from './second-factors.ts';
import { openSession, type SignInOrigin } from './sessions.ts';
import { closeSignInStep, openSignInStep, type SignInStep } from './sign-in-steps.ts';
import { useTotpCode } from './totp.ts';
import { findUser, noteLogin } from './users.ts';

const { users } = schema;

/** Content of the browser's cookie: the token of a session, or of the step in between. */
export interface Entry {
  kind: 'session' | 'second_factor';
  token: string;
}

/**
 * Undefined if the account can no longer be signed in to: deactivated, deleted, or its password is no longer `password_hash`,
 * which was just verified outside of the transaction.
 */
export async function enterAccount(
  tx: Tx,
  user: Pick<UserRow, 'id' | 'email'>,
  origin: SignInOrigin,
  step: { next_path: string | null; invite_token?: string | null; password_hash?: string },
): Promise<Entry | undefined> {
  const { password_hash, ...afterwards } = step;
  const { id: user_id } = user;
  if (await userHasSecondFactor(tx, user_id)) {
    if (!(await lockStanding(tx, user_id, password_hash))) return undefined;
    const { token } = await openSignInStep(tx, { user_id, method: origin.method, ...afterwards });
    return { kind: 'second_factor', token };
  }
  if (!(await noteLogin(tx, user_id, password_hash))) return undefined;
  return session(tx, user, origin);
}

/** Called after a correct second factor, or a passkey that counts as both. Undefined if the step or the account has ended. */
export async function completeStep(
  tx: Tx,
  step: SignInStep,
  user_id: string,
  origin: SignInOrigin,
): Promise<Entry | undefined> {
  const user = await findUser(tx, user_id);
  if (!user || !(await closeSignInStep(tx, step)) || !(await noteLogin(tx, user_id))) return undefined;
  return session(tx, user, origin);
}

/**
 * Reserves an attempt at the second factor before it is checked. @throws rateLimited after five wrong ones within 15 minutes,
 * from any address
 */
export async function reserveSecondFactor(tx: Tx, email: string): Promise<void> {
  const { locked_sec } = await reserveLoginAttempt(tx, email, SECOND_FACTOR);
  if (locked_sec !== null) throw rateLimited('too many wrong codes; try again later', locked_sec);
}

/**
 * Completes the second step with a code from the app or a recovery code; the attempt was reserved in its own transaction.
 * @throws unauthenticated if the step has ended; returns undefined for a wrong code
 */
export async function completeByCode(
  tx: Tx,
  step: SignInStep & { user_id: string },
  user: Pick<UserRow, 'id' | 'email'>,
  { code, vault, origin }: { code: string; vault: Vault; origin: SignInOrigin },
): Promise<Entry | undefined> {
  const by_app = await useTotpCode(tx, user.id, vault, code);
  const by_recovery = !by_app && (await useRecoveryCode(tx, user.id, code));
  if (!by_app && !by_recovery) return undefined;
  const entry = await completeStep(tx, step, user.id, origin);
  if (!entry) throw unauthenticated('this sign-in is over; begin again');
  await clearLoginFailures(tx, user.email, SECOND_FACTOR);
  if (by_recovery)
    await recordSecurityEvents(tx, [
      { kind: 'recovery_code.used', user_id: user.id, subject: user.email, place: origin.place },
    ]);
  return entry;
}

/** Called after a valid passkey. */
export async function clearSecondFactor(tx: Tx, email: string): Promise<void> {
  await clearLoginFailures(tx, email, SECOND_FACTOR);
}

async function session(tx: Tx, user: Pick<UserRow, 'id' | 'email'>, origin: SignInOrigin): Promise<Entry> {
  const { token } = await openSession(tx, user.id, origin);
  await recordSecurityEvents(tx, [
    {
      kind: 'sign_in.succeeded',
      user_id: user.id,
      subject: user.email,
      place: origin.place,
      details: { method: origin.method },
    },
  ]);
  return { kind: 'session', token };
}

/** Like `noteLogin`, but the sign-in is not complete yet. */
async function lockStanding(tx: Tx, user_id: string, password_hash?: string): Promise<boolean> {
  const same = password_hash === undefined ? undefined : eq(users.password_hash, password_hash);
  const found = await tx
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.id, user_id), eq(users.is_active, true), same))
    .for('no key update');
  return found.length > 0;
}
