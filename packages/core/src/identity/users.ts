import type { Actor, InstanceRole, User } from '@acp/contract';
import {
  byCreation,
  containing,
  isUniqueViolation,
  lockByName,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  type Tx,
} from '@acp/db';
import { asciiLowerCase, conflict } from '@acp/kernel';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { recordInstanceAct } from '../activity/index.ts';
import { presentUser, type UserRow } from './present.ts';

const { users } = schema;

export interface NewUser {
  email: string;
  display_name: string;
  /** Null: the user can only sign in through a provider. */
  password_hash: string | null;
  instance_role: InstanceRole;
  /** False if only the user claims the address. */
  email_verified?: boolean;
}

/** @throws conflict if the address is taken, ignoring the case of ASCII letters. */
export async function createUser(tx: Tx, user: NewUser): Promise<UserRow> {
  const { email, display_name, password_hash, instance_role, email_verified = true } = user;
  const email_verified_at = email_verified ? sql`now()` : null;
  return takingEmail(async () => {
    const values = { email, display_name, password_hash, instance_role, email_verified_at };
    const [row] = await tx.insert(users).values(values).returning();
    return row!;
  });
}

/** Done by an admin, who vouches for the address. @throws conflict if it is taken */
export async function enrolUser(tx: Tx, actor: Actor, user: NewUser): Promise<User> {
  const row = await createUser(tx, user);
  const { id: user_id, email, instance_role } = row;
  await recordInstanceAct(tx, actor, 'user.created', { user_id, email, instance_role });
  return presentUser(row);
}

/** Creates the first instance admin if there are no users; safe to call from several processes. */
export async function bootstrapAdmin(
  tx: Tx,
  admin: Omit<NewUser, 'instance_role'>,
): Promise<UserRow | undefined> {
  await lockByName(tx, 'first user');
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

/** Display names of existing users, by id. */
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
  page: SearchRequest = {},
  present: (row: UserRow) => T = (row) => row as T,
): Promise<Page<T>> {
  const plan = newestFirst(users.created_at, users.id, page, null);
  const rows = tx
    .select()
    .from(users)
    .where(and(containing(page.q, [users.display_name, users.email]), plan.where))
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.read(tx, rows, byCreation, present);
}

/**
 * Records a login. False if the account can no longer be signed in to: deactivated, deleted, or its password is no longer
 * `password_hash`, which was just verified outside of the transaction. The row stays locked until the session exists, so that
 * ending all of the user's sessions includes it.
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
