import type {
  Actor,
  InstanceRole,
  MyProfile,
  UpdateMe,
  UpdateUser,
  User,
  UserActor,
  UserRole,
} from '@acp/contract';
import { schema, signal, type Tx } from '@acp/db';
import { conflict, notFound } from '@acp/kernel';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import { recordChanges, recordInstanceAct } from '../activity/index.ts';
import { type Mailing, mailsLinks } from '../messages/index.ts';
import { recordSecurityEvents } from '../security/index.ts';
import { revokePairings } from './chat-pairings.ts';
import { assertFreshSignIn, assertFreshWhereOwn } from './fresh-sign-in.ts';
import { lockUser } from './lock-user.ts';
import { beginEmailChange } from './own-email.ts';
import { presentProfile, presentUser, presentUserRole, type UserRow } from './present.ts';
import { closeUserSessions } from './sessions.ts';
import { takingEmail } from './users.ts';

const { companies, memberships, users } = schema;

/**
 * The signed-in user's own change. With mail configured, a new address takes effect once it is confirmed (`confirmEmail`);
 * otherwise immediately, as unverified and ending the user's other sessions.
 * @param verified_hash of the current password, if it was given and verified outside of the transaction
 * @throws forbidden for a new address without the current password or a recent sign-in; without mail, conflict for a taken
 * address
 */
export async function updateMe(
  tx: Tx,
  actor: UserActor,
  { email, display_name }: UpdateMe,
  { verified_hash = null, mailing = null }: { verified_hash?: string | null; mailing?: Mailing | null } = {},
): Promise<MyProfile> {
  const before = await lockUser(tx, actor.user_id);
  const confirmed = verified_hash !== null && verified_hash === before.password_hash;
  if (moves(before, email) && !confirmed) await assertFreshSignIn(tx, actor);
  const now = await beginIfMailed(tx, actor, before, { email, display_name }, mailing);
  const row = await writeUser(tx, before, now, null);
  await afterChange(tx, actor, before, row);
  return presentProfile(row);
}

/**
 * An instance admin's change. A new address, a new role or a deactivation ends the user's sessions; a deactivation also revokes
 * chat identities. With mail configured, an active account's new address takes effect once its owner has confirmed it.
 * @throws conflict for a taken address, and if the caller or the last active instance admin would lose the role
 */
export async function changeUser(
  tx: Tx,
  actor: Actor,
  user_id: string,
  input: UpdateUser,
  mailing: Mailing | null = null,
): Promise<User> {
  return presentUser(await changeAccount(tx, actor, user_id, input, mailing));
}

/** @throws conflict like `changeUser` */
export async function writeInstanceRole(
  tx: Tx,
  actor: Actor,
  user_id: string,
  role: InstanceRole,
): Promise<UserRole> {
  return presentUserRole(await changeAccount(tx, actor, user_id, { instance_role: role }));
}

/** Closes the account: no one can sign in with it; its sessions and chat pairings end. @throws conflict like `changeUser` */
export async function closeAccount(tx: Tx, actor: Actor, user_id: string): Promise<void> {
  await changeAccount(tx, actor, user_id, { is_active: false });
}

/** Deletes the account with its sessions, sign-ins and memberships, recorded in each company's activity. @throws conflict */
export async function eraseAccount(tx: Tx, actor: Actor, user_id: string): Promise<void> {
  await assertAdminRemains(tx, actor, user_id);
  const left = await tx
    .select({ company_id: memberships.company_id })
    .from(memberships)
    .innerJoin(companies, and(eq(companies.id, memberships.company_id), isNull(companies.deleted_at)))
    .where(eq(memberships.user_id, user_id));
  const [deleted] = await tx.delete(users).where(eq(users.id, user_id)).returning();
  if (!deleted) throw notFound();
  signal(tx, 'credentials', user_id);
  const { email } = deleted;
  await recordInstanceAct(tx, actor, 'user.deleted', { user_id, email });
  const removed = { action: 'member.removed', entity_type: 'user', entity_id: user_id, details: { email } };
  await recordChanges(
    tx,
    actor,
    left.map(({ company_id }) => ({ ...removed, company_id })),
  );
}

async function changeAccount(
  tx: Tx,
  actor: Actor,
  user_id: string,
  input: UpdateUser,
  mailing: Mailing | null = null,
): Promise<UserRow> {
  const { email, display_name, is_active, instance_role } = input;
  if (is_active === false || instance_role === 'member') await assertAdminRemains(tx, actor, user_id);
  const before = await lockUser(tx, user_id);
  if (moves(before, email)) await assertFreshWhereOwn(tx, actor, user_id);
  // No one can sign in to a closed account to confirm an address.
  const open = before.is_active && is_active !== false;
  const change = { email, display_name, is_active, instance_role };
  const now = await beginIfMailed(tx, actor, before, change, open ? mailing : null);
  const row = await writeUser(tx, before, now, sql`now()`);
  if (before.is_active && !row.is_active) await revokePairings(tx, { user_id });
  await afterChange(tx, actor, before, row);
  return row;
}

/**
 * Locks all active instance admins, always in the same order, before any of them loses the role: of two concurrent demotions
 * the second sees the result of the first.
 */
async function assertAdminRemains(tx: Tx, actor: Actor, user_id: string): Promise<void> {
  if (actor.kind === 'user' && actor.user_id === user_id) {
    throw conflict('you cannot demote, deactivate or delete yourself');
  }
  const admins = await tx
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.instance_role, 'admin'), eq(users.is_active, true)))
    .orderBy(asc(users.id))
    .for('no key update');
  if (admins.length === 1 && admins[0]!.id === user_id) {
    throw conflict('the last active instance admin cannot be demoted, deactivated or deleted');
  }
}

const moves = (before: UserRow, email: string | undefined) => email !== undefined && email !== before.email;

/** The part of a change that applies immediately: everything but an address that has to be confirmed first. */
async function beginIfMailed<T extends UpdateUser>(
  tx: Tx,
  actor: Actor,
  before: UserRow,
  change: T,
  mailing: Mailing | null,
): Promise<T> {
  const { email } = change;
  if (email === undefined || !moves(before, email) || mailing === null || !mailsLinks(mailing)) return change;
  await beginEmailChange(tx, actor, before, email, mailing);
  return { ...change, email: undefined };
}

/** @param vouched whether the party making the change vouches for a new address */
async function writeUser(
  tx: Tx,
  before: UserRow,
  change: UpdateUser,
  vouched: ReturnType<typeof sql> | null,
): Promise<UserRow> {
  const moved = moves(before, change.email);
  const ends = before.is_active && change.is_active === false;
  return takingEmail(async () => {
    const [row] = await tx
      .update(users)
      .set({
        ...change,
        ...(moved ? { email_verified_at: vouched } : {}),
        ...(ends ? { slack_user_id: null, telegram_user_id: null } : {}),
        updated_at: sql`now()`,
      })
      .where(eq(users.id, before.id))
      .returning();
    return row!;
  });
}

/** Ends sessions if the user's identity has changed; the session making its own change survives (Authentication 4). */
async function afterChange(tx: Tx, actor: Actor, before: UserRow, after: UserRow): Promise<void> {
  const fields = (['email', 'display_name', 'is_active', 'instance_role'] as const).filter(
    (field) => before[field] !== after[field],
  );
  if (fields.length === 0) return;
  const identity = fields.some(
    (field) => field !== 'display_name' && (field !== 'is_active' || !after.is_active),
  );
  const own = actor.kind === 'user' && actor.user_id === after.id ? actor.session_id : null;
  if (identity) await closeUserSessions(tx, after.id, own);
  else signal(tx, 'credentials', after.id);
  const changes = Object.fromEntries(fields.map((field) => [field, after[field]]));
  await recordInstanceAct(tx, actor, 'user.updated', { user_id: after.id, ...changes });
  const { id: user_id, email } = after;
  if (email !== before.email)
    await recordSecurityEvents(tx, [
      { kind: 'email.changed', user_id, subject: actor.name, details: { email } },
    ]);
}
