/** The ways in which someone loses rights: each also settles what that person has created (docs/adr/0051). */
import type { Actor, CompanyRole, InstanceRole, Membership, UpdateUser, User, UserRole } from '@acp/contract';
import type { Tx } from '@acp/db';
import { deleteMembership, setMembershipRole } from '../companies/index.ts';
import { changeUser, closeAccount, eraseAccount, lockUser, writeInstanceRole } from '../identity/index.ts';
import type { Mailing } from '../messages/index.ts';
import { settleCredentials } from './settle-credentials.ts';

interface Departure {
  /** What the person created goes on working, and the actor answers for it. */
  keep_keys?: boolean | undefined;
}

/** @throws notFound for someone who is no member */
export async function removeMember(
  tx: Tx,
  actor: Actor,
  company_id: string,
  user_id: string,
  { keep_keys = false }: Departure = {},
): Promise<void> {
  await lockUser(tx, user_id);
  await deleteMembership(tx, actor, company_id, user_id);
  await settleCredentials(tx, actor, { user_id, company_id, keep_keys });
}

/** @throws notFound for someone who is no member */
export async function changeMember(
  tx: Tx,
  actor: Actor,
  company_id: string,
  user_id: string,
  { role, keep_keys = false }: { role: CompanyRole } & Departure,
): Promise<Membership> {
  await lockUser(tx, user_id);
  const membership = await setMembershipRole(tx, actor, company_id, user_id, { role });
  await settleCredentials(tx, actor, { user_id, company_id, keep_keys });
  return membership;
}

/** @throws like `changeUser` */
export async function updateUser(
  tx: Tx,
  actor: Actor,
  user_id: string,
  { keep_keys = false, ...change }: UpdateUser,
  mailing: Mailing | null = null,
): Promise<User> {
  const user = await changeUser(tx, actor, user_id, change, mailing);
  if (change.is_active === false || change.instance_role === 'member')
    await settleCredentials(tx, actor, { user_id, company_id: null, keep_keys });
  return user;
}

/** @throws like `changeUser` */
export async function changeInstanceRole(
  tx: Tx,
  actor: Actor,
  user_id: string,
  { role, keep_keys = false }: { role: InstanceRole } & Departure,
): Promise<UserRole> {
  const answer = await writeInstanceRole(tx, actor, user_id, role);
  if (role === 'member') await settleCredentials(tx, actor, { user_id, company_id: null, keep_keys });
  return answer;
}

/** @returns how many keys and webhooks it concerned. @throws like `changeUser` */
export async function deactivateUser(
  tx: Tx,
  actor: Actor,
  user_id: string,
  { keep_keys = false }: Departure = {},
): Promise<number> {
  await closeAccount(tx, actor, user_id);
  return settleCredentials(tx, actor, { user_id, company_id: null, keep_keys });
}

/** @throws like `changeUser` */
export async function deleteUser(
  tx: Tx,
  actor: Actor,
  user_id: string,
  { keep_keys = false }: Departure = {},
): Promise<void> {
  await eraseAccount(tx, actor, user_id);
  await settleCredentials(tx, actor, { user_id, company_id: null, keep_keys });
}
