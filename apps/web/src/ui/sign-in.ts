/** The steps of a sign-in; the password is checked outside of any transaction. */
import {
  clearLoginFailures,
  completeSetup,
  findUserByEmail,
  hashPassword,
  noteLogin,
  openSession,
  reserveLoginAttempt,
  SESSION_DAYS,
  verifyPassword,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { rateLimited, unauthenticated } from '@acp/kernel';
import type { CookieOptions } from 'express';

/**
 * Opens a session for the right password.
 * @throws rateLimited while the pair or the e-mail is locked, unauthenticated for a wrong pair; both cost the same.
 */
export async function signIn(
  database: Database,
  { email, password, address }: { email: string; password: string; address: string },
): Promise<{ token: string }> {
  const { locked_sec } = await transaction(database, (tx) => reserveLoginAttempt(tx, email, address));
  if (locked_sec !== null) throw rateLimited('too many failed logins; try again later', locked_sec);
  const user = await findUserByEmail(database.db, email);
  const matches = await verifyPassword(user?.password_hash, password);
  if (!user || !matches || !user.is_active) throw unauthenticated('wrong e-mail or password');
  return transaction(database, async (tx) => {
    await clearLoginFailures(tx, email, address);
    await noteLogin(tx, user.id);
    return openSession(tx, user.id);
  });
}

/** Creates the first admin and signs it in. @throws forbidden when the link is spent. */
export async function setUp(
  database: Database,
  form: { token: string; email: string; display_name: string; password: string },
): Promise<{ token: string }> {
  const password_hash = await hashPassword(form.password);
  return transaction(database, async (tx) => {
    const { email, display_name } = form;
    const user = await completeSetup(tx, form.token, { email, display_name, password_hash });
    await noteLogin(tx, user.id);
    return openSession(tx, user.id);
  });
}

/** HttpOnly, SameSite=Lax, Secure where the public URL is https (decisions 1). */
export function sessionCookie(public_url: string): CookieOptions {
  return {
    httpOnly: true,
    sameSite: 'lax',
    secure: public_url.startsWith('https:'),
    path: '/',
    maxAge: SESSION_DAYS * 86_400_000,
  };
}
