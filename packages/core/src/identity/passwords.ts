import type { Tx } from '@acp/db';
import { getSetting } from '../settings/index.ts';
import { assertUncommonPassword } from './common-passwords.ts';
import { findUser } from './users.ts';

/** OWASP's minimum for argon2id: 19 MiB, two passes. About 20 ms off the main thread. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Loaded by the first sign-in. */
const library = async () => import('@node-rs/argon2');

let dummy: Promise<string> | undefined;

export async function hashPassword(password: string): Promise<string> {
  const { hash } = await library();
  return hash(password, cost);
}

/**
 * Checks a password that a person has just chosen.
 * @param about the user's name and address, which it must not match
 * @throws invalid for an easily guessed one, unless the instance accepts those
 */
export async function assertChosenPassword(
  tx: Tx,
  password: string,
  about: readonly string[] = [],
): Promise<void> {
  if ((await getSetting(tx, 'refuse_common_passwords')) !== false)
    await assertUncommonPassword(password, about);
}

/** The same for an account that exists: its password must match neither its name nor its address. */
export async function assertPasswordFor(tx: Tx, user_id: string, password: string): Promise<void> {
  const user = await findUser(tx, user_id);
  await assertChosenPassword(tx, password, user ? [user.display_name, user.email] : []);
}

/** Hashes a password that a person has just chosen. @throws like `assertChosenPassword` */
export async function hashChosenPassword(
  tx: Tx,
  password: string,
  about: readonly string[] = [],
): Promise<string> {
  await assertChosenPassword(tx, password, about);
  return hashPassword(password);
}

/**
 * Hashes a password that a program sent: its length is all that the API asks for (specification, Limits), unless the instance
 * refuses common ones everywhere.
 * @throws invalid
 */
export async function hashSentPassword(
  tx: Tx,
  password: string,
  about: readonly string[] = [],
): Promise<string> {
  if ((await getSetting(tx, 'refuse_common_passwords')) === true)
    await assertUncommonPassword(password, about);
  return hashPassword(password);
}

/**
 * Whether the password matches the hash. Without a hash (unknown address, account without a password) it takes the same time
 * and returns false, so that no one learns which addresses exist.
 */
export async function verifyPassword(stored: string | null | undefined, password: string): Promise<boolean> {
  dummy ??= hashPassword('no account has this password');
  const { verify } = await library();
  const matches = await verify(stored ?? (await dummy), password);
  return matches && stored !== null && stored !== undefined;
}
