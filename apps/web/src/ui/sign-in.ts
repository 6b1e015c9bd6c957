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
import { asciiLowerCase, rateLimited, unauthenticated } from '@acp/kernel';
import type { CookieOptions } from 'express';

interface Credentials {
  email: string;
  password: string;
  address: string;
}

/** The last attempt of each pair in this process. */
const attempts = new Map<string, Promise<unknown>>();

/**
 * Opens a session for the right password.
 * @throws rateLimited while the pair or the e-mail is locked, unauthenticated for a wrong pair; both cost the same.
 */
export async function signIn(database: Database, form: Credentials): Promise<{ token: string }> {
  // One after the other: an attempt counts as failed while it is under way, and right ones must not lock each other out.
  const pair = JSON.stringify([asciiLowerCase(form.email), form.address]);
  const attempt = (attempts.get(pair) ?? Promise.resolve()).then(async () => attemptSignIn(database, form));
  const settled = attempt.catch(() => undefined);
  attempts.set(pair, settled);
  try {
    return await attempt;
  } finally {
    if (attempts.get(pair) === settled) attempts.delete(pair);
  }
}

const refused = () => unauthenticated('wrong e-mail or password');

async function attemptSignIn(
  database: Database,
  { email, password, address }: Credentials,
): Promise<{ token: string }> {
  const { locked_sec } = await transaction(database, (tx) => reserveLoginAttempt(tx, email, address));
  if (locked_sec !== null) throw rateLimited('too many failed logins; try again later', locked_sec);
  const user = await findUserByEmail(database.db, email);
  const matches = await verifyPassword(user?.password_hash, password);
  if (!user?.password_hash || !matches || !user.is_active) throw refused();
  const { id, password_hash } = user;
  return transaction(database, async (tx) => {
    await clearLoginFailures(tx, email, address);
    // The account may have changed while the password was checked.
    if (!(await noteLogin(tx, id, password_hash))) throw refused();
    return openSession(tx, id);
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
