import type { Actor, InstanceRole, User } from '@acp/contract';
import { isUniqueViolation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { asciiLowerCase, conflict } from '@acp/kernel';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { recordInstanceAct } from '../activity/index.ts';
import { presentUser, type UserRow } from './present.ts';

const { users } = schema;

export interface NewUser {
  email: string;
  display_name: string;
  /** Null: the user signs in by a provider only. */
  password_hash: string | null;
  instance_role: InstanceRole;
  /** False where only the user says that the address is theirs. */
  email_verified?: boolean;
}

/** @throws conflict when the address is taken, whatever the case of its ASCII letters. */
export async function createUser(tx: Tx, user: NewUser): Promise<UserRow> {
  const { email, display_name, password_hash, instance_role, email_verified = true } = user;
  const email_verified_at = email_verified ? sql`now()` : null;
  return takingEmail(async () => {
    const values = { email, display_name, password_hash, instance_role, email_verified_at };
    const [row] = await tx.insert(users).values(values).returning();
    return row!;
  });
}

/** An admin's act: the admin vouches for the address. @throws conflict when it is taken */
export async function enrolUser(tx: Tx, actor: Actor, user: NewUser): Promise<User> {
  const row = await createUser(tx, user);
  const { id: user_id, email, instance_role } = row;
  await recordInstanceAct(tx, actor, 'user.created', { user_id, email, instance_role });
  return presentUser(row);
}

/** Makes the first instance admin where there is no user at all; several processes may try at once. */
export async function bootstrapAdmin(
  tx: Tx,
  admin: Omit<NewUser, 'instance_role'>,
): Promise<UserRow | undefined> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('first user', 0))`);
  const [existing] = await tx.select({ id: users.id }).from(users).limit(1);
  return existing ? undefined : createUser(tx, { ...admin, instance_role: 'admin' });
}

export async function findUser(tx: Tx, user_id: string): Promise<UserRow | undefined> {
  const [row] = await tx.select().from(users).where(eq(users.id, user_id));
  return row;
}

export async function findUserByEmail(tx: Tx, email: string): Promise<UserRow | undefined> {
  const [row] = await tx
    .select()
    .from(users)
    .where(sql`lower(${users.email} collate "C") = ${asciiLowerCase(email)}`);
  return row;
}

/** Display names by id, of those that exist. */
export async function userNames(tx: Tx, ids: readonly (string | null)[]): Promise<Map<string, string>> {
  const known = [...new Set(ids)].filter((id) => id !== null);
  if (known.length === 0) return new Map();
  const rows = await tx
    .select({ id: users.id, name: users.display_name })
    .from(users)
    .where(inArray(users.id, known));
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Newest first; at most 1,000 or 4 MB unless a limit is given. */
export async function listUsers<T = UserRow>(
  tx: Tx,
  page: PageRequest = {},
  present: (row: UserRow) => T = (row) => row as T,
): Promise<Page<T>> {
  const plan = newestFirst(users.created_at, users.id, page, null);
  const rows = tx
    .select()
    .from(users)
    .where(plan.where)
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.read(tx, rows, ({ created_at, id }) => ({ at: created_at, id }), present);
}

/**
 * Notes a login. False when the account cannot be signed in to any more: deactivated, deleted, or `password_hash`, which
 * has just been verified outside of the transaction, is no longer its password. The row stays locked until the session is
 * there, so that whoever ends the user's sessions finds it.
 */
export async function noteLogin(tx: Tx, user_id: string, password_hash?: string): Promise<boolean> {
  const same = password_hash === undefined ? undefined : eq(users.password_hash, password_hash);
  const noted = await tx
    .update(users)
    .set({ last_login_at: sql`now()` })
    .where(and(eq(users.id, user_id), eq(users.is_active, true), same))
    .returning({ id: users.id });
  return noted.length > 0;
}

export async function takingEmail<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (err) {
    if (isUniqueViolation(err, 'users_email')) throw conflict('email is already in use');
    throw err;
  }
}
