import type { InstanceRole, Me } from '@acp/contract';
import { type Tx, isUniqueViolation, schema } from '@acp/db';
import { conflict, notFound } from '@acp/kernel';
import { asc, eq, sql } from 'drizzle-orm';
import { closeUserSessions } from './sessions.ts';

const { users } = schema;

export type UserRow = typeof users.$inferSelect;

/** The user's own record: an allow-list, the password hash never leaves. */
export function presentMe(user: UserRow): Me {
  return {
    id: user.id,
    email: user.email,
    display_name: user.display_name,
    instance_role: user.instance_role as InstanceRole,
    is_active: user.is_active,
    last_login_at: user.last_login_at,
    created_at: user.created_at,
  };
}

export interface NewUser {
  email: string;
  display_name: string;
  password_hash: string | null;
  instance_role: InstanceRole;
}

/** @throws conflict when the address is taken, whatever its case. */
export async function createUser(tx: Tx, user: NewUser): Promise<UserRow> {
  try {
    const [row] = await tx.insert(users).values(user).returning();
    return row!;
  } catch (err) {
    if (isUniqueViolation(err, 'users_email')) throw conflict('email is already in use');
    throw err;
  }
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
    .where(sql`lower(${users.email}) = lower(${email})`);
  return row;
}

export async function listUsers(tx: Tx): Promise<UserRow[]> {
  return tx.select().from(users).orderBy(asc(users.created_at));
}

export async function noteLogin(tx: Tx, user_id: string): Promise<void> {
  await tx
    .update(users)
    .set({ last_login_at: sql`now()` })
    .where(eq(users.id, user_id));
}

/** Sets a password and ends every session of the user. */
export async function resetPassword(tx: Tx, user_id: string, password_hash: string): Promise<void> {
  await changeUser(tx, user_id, { password_hash });
}

/** Deactivates the account: nobody can sign in with it and its sessions end. */
export async function deactivateUser(tx: Tx, user_id: string): Promise<void> {
  await changeUser(tx, user_id, { is_active: false });
}

async function changeUser(tx: Tx, user_id: string, change: Partial<UserRow>): Promise<void> {
  const changed = await tx
    .update(users)
    .set({ ...change, updated_at: sql`now()` })
    .where(eq(users.id, user_id))
    .returning({ id: users.id });
  if (changed.length === 0) throw notFound('unknown user');
  await closeUserSessions(tx, user_id);
}
