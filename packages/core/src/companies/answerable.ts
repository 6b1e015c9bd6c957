/** Who answers for keys and other lasting credentials: they end when that person may no longer create them (docs/adr/0051). */
import type { Actor, CompanyRole, CredentialKind } from '@acp/contract';
import { companyRoles } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { forbidden, unauthenticated } from '@acp/kernel';
import { and, eq, sql, type SQL, type SQLWrapper } from 'drizzle-orm';

const { users } = schema;

/** Someone who has just lost rights, in one company or, if null, in all. */
export interface Leaving {
  user_id: string;
  company_id: string | null;
  /** Who answers for the credentials from now on (null: nobody in person). Absent: they end. */
  heir?: string | null | undefined;
  /** The account now belongs to someone else: what was created with it ends, although its rights are the same. */
  claimed?: boolean | undefined;
}

/** A credential that has ended, or that someone else now answers for. */
export interface LeftCredential {
  kind: CredentialKind;
  id: string;
  /** Null for a worker's key. */
  company_id: string | null;
  label: string;
}

/** Whether the user, now, has at least that role in the company: an instance admin has every role everywhere. */
export function hasRole(user_id: SQLWrapper | string, company_id: SQLWrapper, least: CompanyRole): SQL {
  const roles = companyRoles.slice(companyRoles.indexOf(least));
  // A nested `exists` would be answered from all members of the company, once for each row.
  return sql`exists (select from users u left join memberships m on m.company_id = ${company_id} and m.user_id = u.id
    where u.id = ${user_id} and u.is_active and (u.instance_role = 'admin' or m.role in ${roles}))`;
}

/** Whether the user, now, is an instance admin. */
export const isInstanceAdmin = (user_id: string): SQL =>
  sql`exists (select from users u where u.id = ${user_id} and u.is_active and u.instance_role = 'admin')`;

interface AnsweredTable {
  created_by_user_id: SQLWrapper;
  company_id: SQLWrapper;
}

/** Rows of the table that the person created and could no longer create. @param least role that creating one takes */
export function rowsLostBy(
  { user_id, company_id, claimed = false }: Leaving,
  table: AnsweredTable,
  least: SQL | CompanyRole,
): SQL {
  const may =
    typeof least === 'string'
      ? hasRole(user_id, table.company_id, least)
      : sql`case when ${least} then ${hasRole(user_id, table.company_id, 'admin')} else ${hasRole(user_id, table.company_id, 'member')} end`;
  return and(
    sql`${table.created_by_user_id} = ${user_id}`,
    company_id === null ? undefined : sql`${table.company_id} = ${company_id}`,
    claimed ? undefined : sql`not ${may}`,
  )!;
}

/**
 * The person who answers for a credential that the actor is about to create: the user, or whoever answers for the key it is
 * created with; null for the service and its operator. Locks the account, so that a removal which happens at the same time either
 * finds the new credential or prevents it.
 * @param least role that creating it takes; null: instance admin
 * @throws forbidden if the user has just lost the right, unauthenticated if the session or key has just ended
 */
export async function answerableUser(
  tx: Tx,
  actor: Actor,
  company_id: string | null,
  least: CompanyRole | null,
): Promise<string | null> {
  if (actor.kind === 'user') {
    await lock(tx, actor.user_id);
    const may =
      company_id !== null && least !== null
        ? hasRole(actor.user_id, sql`${company_id}::uuid`, least)
        : isInstanceAdmin(actor.user_id);
    const { rows } = await tx.execute<{ may: boolean; here: boolean }>(sql`
      select ${may} as may, ${actor.session_id}::uuid is null or exists (select from sessions where id = ${actor.session_id}) as here`);
    if (!rows[0]?.here) throw unauthenticated();
    if (!rows[0]?.may) throw forbidden('your rights have just changed');
    return actor.user_id;
  }
  const before = await personBehind(tx, actor);
  if (before === null) return null;
  await lock(tx, before);
  return personBehind(tx, actor);
}

/** The user, or whoever answers for the key that acts; null for the service and its operator. */
export async function personBehind(tx: Tx, actor: Actor): Promise<string | null> {
  if (actor.kind === 'user') return actor.user_id;
  if ((actor.kind !== 'agent' && actor.kind !== 'board_user') || actor.key_id === null) return null;
  return answeringFor(tx, actor.key_id);
}

async function lock(tx: Tx, user_id: string): Promise<void> {
  await tx.select({ id: users.id }).from(users).where(eq(users.id, user_id)).for('share');
}

/** @throws unauthenticated for a key that no longer exists */
async function answeringFor(tx: Tx, key_id: string): Promise<string | null> {
  const { rows } = await tx.execute<{ user_id: string | null }>(sql`
    select created_by_user_id as user_id from agent_api_keys where id = ${key_id}
    union all select created_by_user_id from board_user_keys where id = ${key_id}`);
  if (rows[0] === undefined) throw unauthenticated('invalid api key');
  return rows[0].user_id;
}
