import type { Actor, Passkey, SecondFactors, UserActor } from '@acp/contract';
import { schema, signal, type Tx } from '@acp/db';
import { conflict, notFound } from '@acp/kernel';
import { asc, eq, sql } from 'drizzle-orm';
import { recordInstanceAct } from '../activity/index.ts';
import { recordSecurityEvents } from '../security/index.ts';
import { assertFreshSignIn } from './fresh-sign-in.ts';
import { countRecoveryCodes, replaceRecoveryCodes } from './recovery-codes.ts';
import { hasSecondFactor, requiresSecondFactor } from './second-factor-rule.ts';
import { closeUserSessions } from './sessions.ts';

const { passkeys, recovery_codes, user_totp, users } = schema;

type PasskeyRow = typeof passkeys.$inferSelect;

/** Never contains the key. */
export function presentPasskey(row: PasskeyRow): Passkey {
  const { id, name, backed_up, created_at, last_used_at } = row;
  return { id, name, backed_up, created_at, last_used_at };
}

export async function readSecondFactors(tx: Tx, user_id: string): Promise<SecondFactors> {
  const own = await tx
    .select()
    .from(passkeys)
    .where(eq(passkeys.user_id, user_id))
    .orderBy(asc(passkeys.created_at), asc(passkeys.id));
  const { rows } = await tx.execute<{ totp: boolean; required: boolean }>(sql`
    select exists (select from user_totp t where t.user_id = u.id and t.confirmed_at is not null) as totp,
      ${requiresSecondFactor} as required from users u where u.id = ${user_id}`);
  const { totp, required } = rows[0] ?? { totp: false, required: false };
  return {
    totp,
    required,
    passkeys: own.map(presentPasskey),
    recovery_codes_left: await countRecoveryCodes(tx, user_id),
  };
}

export async function userHasSecondFactor(tx: Tx, user_id: string): Promise<boolean> {
  const { rows } = await tx.execute<{ has: boolean }>(
    sql`select ${hasSecondFactor} as has from users u where u.id = ${user_id}`,
  );
  return rows[0]?.has ?? false;
}

/** Serialises changes to a user's factors, so that counts stay valid until the commit. */
export async function lockFactors(tx: Tx, user_id: string): Promise<void> {
  const found = await tx
    .select({ id: users.id })
    .from(users)
    .where(eq(users.id, user_id))
    .for('no key update');
  if (found.length === 0) throw notFound();
}

/**
 * Common to every new factor: the user's other sessions, opened without it, end.
 * @returns recovery codes if there were none, shown only once
 */
export async function factorAdded(tx: Tx, actor: UserActor, factor: string): Promise<string[] | null> {
  await closeUserSessions(tx, actor.user_id, actor.session_id);
  await note(tx, actor, 'second_factor.added', factor);
  if ((await countRecoveryCodes(tx, actor.user_id)) > 0) return null;
  return replaceRecoveryCodes(tx, actor.user_id);
}

/** Removes the authenticator app. @throws notFound, conflict if it is the last factor and one is required, forbidden */
export async function removeTotp(tx: Tx, actor: UserActor): Promise<void> {
  await removing(tx, actor, 'totp', async () => {
    const gone = await tx.delete(user_totp).where(eq(user_totp.user_id, actor.user_id)).returning();
    return gone.length > 0;
  });
}

/** @throws notFound for another user's passkey; otherwise like `removeTotp` */
export async function removePasskey(tx: Tx, actor: UserActor, passkey_id: string): Promise<void> {
  await removing(tx, actor, 'passkey', async () => {
    const mine = sql`${passkeys.id} = ${passkey_id} and ${passkeys.user_id} = ${actor.user_id}`;
    return (await tx.delete(passkeys).where(mine).returning({ id: passkeys.id })).length > 0;
  });
}

export async function renewRecoveryCodes(tx: Tx, actor: UserActor): Promise<string[]> {
  await assertFreshSignIn(tx, actor);
  await lockFactors(tx, actor.user_id);
  if (!(await userHasSecondFactor(tx, actor.user_id))) throw conflict('there is no second factor yet');
  await note(tx, actor, 'second_factor.added', 'recovery codes');
  return replaceRecoveryCodes(tx, actor.user_id);
}

/**
 * Removes all factors of a user who has lost them, for an admin or the operator; the next sign-in needs the first factor only.
 * @throws notFound, conflict for one's own account
 */
export async function resetSecondFactor(tx: Tx, actor: Actor, user_id: string): Promise<void> {
  if (actor.kind === 'user' && actor.user_id === user_id)
    throw conflict('remove your own second factor in your profile instead');
  await lockFactors(tx, user_id);
  await deleteFactors(tx, user_id);
  await closeUserSessions(tx, user_id);
  await recordInstanceAct(tx, actor, 'user.second_factor_reset', { user_id });
  await recordSecurityEvents(tx, [
    { kind: 'second_factor.reset', user_id, subject: actor.name, details: { by: actor.name } },
  ]);
}

export async function deleteFactors(tx: Tx, user_id: string): Promise<void> {
  await tx.delete(user_totp).where(eq(user_totp.user_id, user_id));
  await tx.delete(passkeys).where(eq(passkeys.user_id, user_id));
  await tx.delete(recovery_codes).where(eq(recovery_codes.user_id, user_id));
}

async function removing(
  tx: Tx,
  actor: UserActor,
  factor: string,
  remove: () => Promise<boolean>,
): Promise<void> {
  const { user_id } = actor;
  await assertFreshSignIn(tx, actor);
  await lockFactors(tx, user_id);
  if (!(await remove())) throw notFound();
  const left = await userHasSecondFactor(tx, user_id);
  if (!left && (await readSecondFactors(tx, user_id)).required)
    throw conflict('a second factor is required here: add another one first');
  if (!left) await tx.delete(recovery_codes).where(eq(recovery_codes.user_id, user_id));
  signal(tx, 'credentials', user_id);
  await note(tx, actor, 'second_factor.removed', factor);
}

async function note(
  tx: Tx,
  { user_id, name: subject }: UserActor,
  kind: 'second_factor.added' | 'second_factor.removed',
  factor: string,
): Promise<void> {
  await recordSecurityEvents(tx, [{ kind, user_id, subject, details: { factor } }]);
}
