import type { Actor, CompanyRole, CompanyUser, Membership } from '@acp/contract';
import {
  containing,
  isUniqueViolation,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  signal,
  type Tx,
} from '@acp/db';
import { conflict, isUuid, notFound } from '@acp/kernel';
import { and, eq, notExists, type SQL, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { findUser, revokePairings } from '../identity/index.ts';

const { memberships, users } = schema;

function present(row: typeof memberships.$inferSelect): Membership {
  return {
    id: row.id,
    company_id: row.company_id,
    user_id: row.user_id,
    role: row.role as CompanyRole,
    joined_at: row.joined_at,
  };
}

/** Newest first; at most 1,000 or 4 MB unless a limit is given. */
export async function listMembers(
  tx: Tx,
  company_id: string,
  page: SearchRequest = {},
): Promise<Page<Membership>> {
  const plan = newestFirst(memberships.joined_at, memberships.id, page, null);
  const rows = tx
    .select()
    .from(memberships)
    .where(and(eq(memberships.company_id, company_id), called(page.q), plan.where))
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.read(tx, rows, ({ joined_at, id }) => ({ at: joined_at, id }), present);
}

/** Not by address, which not everyone who sees memberships may see. */
function called(q: string | undefined): SQL | undefined {
  const name = containing(q, [users.display_name]);
  return name && sql`exists (select from ${users} where ${users.id} = ${memberships.user_id} and ${name})`;
}

/**
 * The members with names and addresses, in the same order.
 * @param by_email whether `q` is also looked for in addresses: not for those who may not see them
 */
export async function listCompanyUsers(
  tx: Tx,
  company_id: string,
  page: SearchRequest = {},
  by_email = false,
): Promise<Page<CompanyUser>> {
  const plan = newestFirst(memberships.joined_at, memberships.id, page, null);
  const rows = await tx
    .select({ membership: memberships, email: users.email, display_name: users.display_name })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(
      and(
        eq(memberships.company_id, company_id),
        containing(page.q, by_email ? [users.display_name, users.email] : [users.display_name]),
        plan.where,
      ),
    )
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.cut(
    rows,
    ({ membership: { joined_at, id } }) => ({ at: joined_at, id }),
    ({ membership, email, display_name }) => ({ ...present(membership), email, display_name }),
  );
}

/** Active users of the instance who are not members, by name. */
export async function listOutsiders(
  tx: Tx,
  company_id: string,
  limit: number,
): Promise<{ id: string; display_name: string; email: string }[]> {
  const member = tx
    .select({ id: memberships.id })
    .from(memberships)
    .where(and(eq(memberships.company_id, company_id), eq(memberships.user_id, users.id)));
  return tx
    .select({ id: users.id, display_name: users.display_name, email: users.email })
    .from(users)
    .where(and(eq(users.is_active, true), notExists(member)))
    .orderBy(sql`lower(${users.display_name})`, users.id)
    .limit(limit);
}

/** A member with name and address; undefined for anyone else. */
export async function findCompanyUser(
  tx: Tx,
  company_id: string,
  user_id: string,
): Promise<CompanyUser | undefined> {
  if (!isUuid(user_id)) return undefined;
  const [row] = await tx
    .select({ membership: memberships, email: users.email, display_name: users.display_name })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(membership(company_id, user_id));
  return row && { ...present(row.membership), email: row.email, display_name: row.display_name };
}

export async function isMember(tx: Tx, company_id: string, user_id: string): Promise<boolean> {
  const rows = await tx
    .select({ id: memberships.id })
    .from(memberships)
    .where(membership(company_id, user_id));
  return rows.length > 0;
}

/** @throws notFound for an unknown user, conflict for a member. */
export async function addMember(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: { user_id: string; role?: CompanyRole },
): Promise<Membership> {
  if (!(await findUser(tx, input.user_id))) throw notFound('unknown user');
  const role = input.role ?? 'member';
  await assertRoom(tx, 'members', company_id);
  try {
    const [row] = await tx
      .insert(memberships)
      .values({ company_id, user_id: input.user_id, role })
      .returning();
    await noteMemberChange(tx, actor, company_id, input.user_id, 'member.added', { role });
    return present(row!);
  } catch (err) {
    if (isUniqueViolation(err, 'memberships_company_user')) throw conflict('already a member');
    throw err;
  }
}

export async function setMembershipRole(
  tx: Tx,
  actor: Actor,
  company_id: string,
  user_id: string,
  { role }: { role: CompanyRole },
): Promise<Membership> {
  const [row] = await tx.update(memberships).set({ role }).where(membership(company_id, user_id)).returning();
  if (!row) throw notFound();
  await noteMemberChange(tx, actor, company_id, user_id, 'member.changed', { role });
  return present(row);
}

export async function deleteMembership(
  tx: Tx,
  actor: Actor,
  company_id: string,
  user_id: string,
): Promise<void> {
  const removed = await tx
    .delete(memberships)
    .where(membership(company_id, user_id))
    .returning({ id: memberships.id });
  if (removed.length === 0) throw notFound();
  await revokePairings(tx, { user_id, company_id });
  await noteMemberChange(tx, actor, company_id, user_id, 'member.removed', {});
}

const membership = (company_id: string, user_id: string) =>
  and(eq(memberships.company_id, company_id), eq(memberships.user_id, user_id));

/** Drops the user's cached roles in every process, so that a removal is effective immediately. */
async function noteMemberChange(
  tx: Tx,
  actor: Actor,
  company_id: string,
  user_id: string,
  action: string,
  details: Record<string, unknown>,
): Promise<void> {
  signal(tx, 'credentials', user_id);
  await recordChanges(tx, actor, [{ company_id, action, entity_type: 'user', entity_id: user_id, details }]);
}
