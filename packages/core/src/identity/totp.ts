import type { NewTotp, UserActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, forbidden, type Vault } from '@acp/kernel';
import { and, eq, isNotNull, isNull, lt, sql } from 'drizzle-orm';
import { Secret, TOTP } from 'otpauth';
import { assertFreshSignIn } from './fresh-sign-in.ts';
import { factorAdded, lockFactors } from './second-factors.ts';

const { user_totp, users } = schema;

const ISSUER = 'Control plane';
const PERIOD_SEC = 30;
// 160 bits, the length of the hash (RFC 4226, section 4).
const SECRET_BYTES = 20;
/** Number of steps that a clock may be off in either direction. */
const WINDOW = 1;

const place = (user_id: string) => `user_totp/${user_id}`;

function appOf(secret: Secret, label = ''): TOTP {
  return new TOTP({ issuer: ISSUER, label, algorithm: 'SHA1', digits: 6, period: PERIOD_SEC, secret });
}

/**
 * A new secret for an app, replacing one that was never confirmed.
 * @throws forbidden without a recent sign-in, conflict if there is already an active app, unavailable without a key
 */
export async function beginTotp(tx: Tx, actor: UserActor, vault: Vault): Promise<NewTotp> {
  await assertFreshSignIn(tx, actor);
  const { user_id } = actor;
  await lockFactors(tx, user_id);
  const secret = new Secret({ size: SECRET_BYTES });
  const secret_sealed = vault.seal(secret.base32, place(user_id));
  const written = await tx
    .insert(user_totp)
    .values({ user_id, secret_sealed })
    .onConflictDoUpdate({
      target: user_totp.user_id,
      set: { secret_sealed, created_at: sql`now()` },
      setWhere: isNull(user_totp.confirmed_at),
    })
    .returning();
  if (written.length === 0) throw conflict('an authenticator app is already set up');
  return shownSecret(tx, user_id, secret);
}

/** The secret awaiting confirmation; undefined if there is none. */
export async function pendingTotp(tx: Tx, user_id: string, vault: Vault): Promise<NewTotp | undefined> {
  const row = await findApp(tx, user_id);
  if (!row || row.confirmed_at !== null) return undefined;
  return shownSecret(tx, user_id, unsealed(row, vault));
}

/**
 * The app becomes active with its first code.
 * @returns recovery codes, shown only once; empty if the user already has some
 * @throws forbidden for a wrong code or without a recent sign-in, conflict if nothing awaits confirmation
 */
export async function confirmTotp(tx: Tx, actor: UserActor, vault: Vault, code: string): Promise<string[]> {
  await assertFreshSignIn(tx, actor);
  const { user_id } = actor;
  await lockFactors(tx, user_id);
  const row = await findApp(tx, user_id);
  if (!row || row.confirmed_at !== null) throw conflict('no authenticator app is waiting for confirmation');
  const step = stepOf(row, vault, code);
  if (step === null) throw forbidden('the code is wrong');
  await tx
    .update(user_totp)
    .set({ confirmed_at: sql`now()`, last_step: step })
    .where(eq(user_totp.user_id, user_id));
  return (await factorAdded(tx, actor, 'totp')) ?? [];
}

/** Whether the code is currently valid; each code can be used once, even by concurrent requests. */
export async function useTotpCode(tx: Tx, user_id: string, vault: Vault, code: string): Promise<boolean> {
  const row = await findApp(tx, user_id);
  if (!row || row.confirmed_at === null) return false;
  const step = stepOf(row, vault, code);
  if (step === null) return false;
  const used = await tx
    .update(user_totp)
    .set({ last_step: step })
    .where(
      and(eq(user_totp.user_id, user_id), isNotNull(user_totp.confirmed_at), lt(user_totp.last_step, step)),
    )
    .returning({ user_id: user_totp.user_id });
  return used.length > 0;
}

type TotpRow = typeof user_totp.$inferSelect;

async function findApp(tx: Tx, user_id: string): Promise<TotpRow | undefined> {
  const [row] = await tx.select().from(user_totp).where(eq(user_totp.user_id, user_id));
  return row;
}

const unsealed = ({ user_id, secret_sealed }: TotpRow, vault: Vault) =>
  Secret.fromBase32(vault.unseal(secret_sealed, place(user_id)));

/** Number of the step that the code belongs to; null for a wrong one. */
function stepOf(row: TotpRow, vault: Vault, code: string): number | null {
  const token = code.replaceAll(/\s/g, '');
  if (!/^\d{6}$/.test(token)) return null;
  const app = appOf(unsealed(row, vault));
  const delta = app.validate({ token, window: WINDOW });
  return delta === null ? null : app.counter() + delta;
}

async function shownSecret(tx: Tx, user_id: string, secret: Secret): Promise<NewTotp> {
  const [user] = await tx.select({ email: users.email }).from(users).where(eq(users.id, user_id));
  return { secret: secret.base32, otpauth_url: appOf(secret, user?.email ?? '').toString() };
}
