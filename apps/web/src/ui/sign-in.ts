/** The steps of a sign-in; the password is checked outside of any transaction. */
import type { SecurityEventKind } from '@acp/contract';
import {
  clearLoginFailures,
  completeSetup,
  enterAccount,
  type Entry,
  findUserByEmail,
  hashChosenPassword,
  recordSecurityEvents,
  reserveLoginAttempt,
  type SignInPlace,
  verifyPassword,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { asciiLowerCase, rateLimited, stated, unauthenticated } from '@acp/kernel';
import { OncePerMinute } from '../http/once-per-minute.ts';

interface Credentials {
  email: string;
  password: string;
  place: SignInPlace;
  next_path: string;
}

/** Repeated attempts against a lock are recorded at most once a minute. */
const locks = new OncePerMinute();

/** The last attempt of each pair in this process. */
const attempts = new Map<string, Promise<unknown>>();

/**
 * Opens a session for the right password, or the step that asks for the second factor.
 * @throws rateLimited while the pair or the e-mail is locked, unauthenticated for a wrong pair; both cost the same.
 */
export async function signIn(database: Database, form: Credentials): Promise<Entry> {
  // Serialised: an attempt counts as failed until it is finished, and correct ones must not lock each other out.
  const pair = JSON.stringify([asciiLowerCase(form.email), form.place.address]);
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
  { email, password, place, next_path }: Credentials,
): Promise<Entry> {
  const { address } = place;
  const note = async (kind: SecurityEventKind, user?: { id: string }, reason?: string) =>
    recordSecurityEvents(database.db, [
      { kind, subject: email, user_id: user?.id ?? null, place, details: reason ? { reason } : {} },
    ]);
  const { locked_sec } = await transaction(database, (tx) => reserveLoginAttempt(tx, email, address));
  if (locked_sec !== null) {
    if (locks.first(JSON.stringify([asciiLowerCase(email), address]))) await note('sign_in.locked');
    throw rateLimited('too many failed logins; try again later', locked_sec);
  }
  const user = await findUserByEmail(database.db, email);
  const matches = await verifyPassword(user?.password_hash, password);
  if (!user?.password_hash || !matches || !user.is_active) {
    if (matches) await note('sign_in.refused', user, stated('this account is deactivated'));
    else await note('sign_in.failed', user);
    throw refused();
  }
  const { password_hash } = user;
  const entry = await transaction(database, async (tx) => {
    await clearLoginFailures(tx, email, address);
    return enterAccount(tx, user, { method: 'password', place }, { next_path, password_hash });
  });
  // The account changed while the password was checked.
  if (!entry) throw refused();
  return entry;
}

/** Creates the first admin and signs it in. @throws forbidden if the link is spent. */
export async function setUp(
  database: Database,
  form: { token: string; email: string; display_name: string; password: string },
  place: SignInPlace,
): Promise<Entry> {
  const password_hash = await hashChosenPassword(database.db, form.password, [form.email, form.display_name]);
  return transaction(database, async (tx) => {
    const { email, display_name } = form;
    const user = await completeSetup(tx, form.token, { email, display_name, password_hash });
    return entered(await enterAccount(tx, user, { method: 'password', place }, { next_path: null }));
  });
}

/** Unwraps the entry of a newly created account: no one else can have closed it. */
export function entered(entry: Entry | undefined): Entry {
  if (!entry) throw unauthenticated('this account was just closed');
  return entry;
}
