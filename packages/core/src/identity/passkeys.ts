import type { Passkey, UserActor } from '@acp/contract';
import { isUniqueViolation, schema, type Tx } from '@acp/db';
import { conflict, forbidden, said } from '@acp/kernel';
import { and, eq, isNotNull, sql } from 'drizzle-orm';
import { assertFreshSignIn } from './fresh-sign-in.ts';
import { factorAdded, lockFactors, presentPasskey } from './second-factors.ts';

const { passkeys, sessions } = schema;

/** The facts about a credential needed for verifying its signature. */
export interface StoredPasskey {
  id: string;
  user_id: string;
  credential_id: string;
  public_key: string;
  counter: number;
  transports: string[];
}

/** A credential whose registration was verified. */
export interface NewPasskey {
  name: string;
  credential_id: string;
  public_key: string;
  counter: number;
  transports: string[];
  backed_up: boolean;
}

const MAX_PASSKEYS = 20;

export async function passkeysOf(tx: Tx, user_id: string): Promise<StoredPasskey[]> {
  return tx.select().from(passkeys).where(eq(passkeys.user_id, user_id)).limit(MAX_PASSKEYS);
}

export async function findPasskey(tx: Tx, credential_id: string): Promise<StoredPasskey | undefined> {
  const [row] = await tx.select().from(passkeys).where(eq(passkeys.credential_id, credential_id));
  return row;
}

/** The session stores the challenge for the browser. @throws forbidden without a recent sign-in, conflict */
export async function beginPasskey(tx: Tx, actor: UserActor, challenge: string): Promise<void> {
  await assertFreshSignIn(tx, actor);
  await assertRoomForPasskey(tx, actor.user_id);
  await tx.update(sessions).set({ passkey_challenge: challenge }).where(eq(sessions.id, actor.session_id!));
}

/** Takes the challenge, only once. @throws forbidden if there is none, or without a recent sign-in */
export async function takePasskeyChallenge(tx: Tx, actor: UserActor): Promise<string> {
  await assertFreshSignIn(tx, actor);
  const mine = and(eq(sessions.id, actor.session_id!), isNotNull(sessions.passkey_challenge));
  const [row] = await tx
    .select({ challenge: sessions.passkey_challenge })
    .from(sessions)
    .where(mine)
    .for('update');
  if (!row?.challenge) throw forbidden('no passkey was requested, or it was already added');
  await tx.update(sessions).set({ passkey_challenge: null }).where(mine);
  return row.challenge;
}

async function assertRoomForPasskey(tx: Tx, user_id: string): Promise<void> {
  if ((await passkeysOf(tx, user_id)).length >= MAX_PASSKEYS)
    throw conflict(said`an account may have at most ${MAX_PASSKEYS} passkeys`);
}

/** @throws conflict if an account already has the credential, or at 20: several may have been begun at once */
export async function addPasskey(
  tx: Tx,
  actor: UserActor,
  passkey: NewPasskey,
): Promise<{ passkey: Passkey; recovery_codes: string[] | null }> {
  await lockFactors(tx, actor.user_id);
  await assertRoomForPasskey(tx, actor.user_id);
  try {
    const [row] = await tx
      .insert(passkeys)
      .values({ ...passkey, user_id: actor.user_id })
      .returning();
    return { passkey: presentPasskey(row!), recovery_codes: await factorAdded(tx, actor, 'passkey') };
  } catch (err) {
    if (isUniqueViolation(err, 'passkeys_credential')) throw conflict('this passkey is already in use');
    throw err;
  }
}

/** Called after a verified signature; a counter that did not advance reveals a cloned authenticator. */
export async function notePasskeyUse(tx: Tx, passkey_id: string, counter: number): Promise<boolean> {
  const noted = await tx
    .update(passkeys)
    .set({ counter, last_used_at: sql`now()` })
    .where(and(eq(passkeys.id, passkey_id), sql`(${counter} > ${passkeys.counter} or ${counter} = 0)`))
    .returning({ id: passkeys.id });
  return noted.length > 0;
}
