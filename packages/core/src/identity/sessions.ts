import type { CompanyRole, InstanceRole, UserActor } from '@acp/contract';
import { type Tx, schema, signal } from '@acp/db';
import { newToken, sha256Hex } from '@acp/kernel';
import { eq, lt, sql } from 'drizzle-orm';

const { sessions } = schema;

/** Lifetime of a session (specification, Limits). */
export const SESSION_DAYS = 7;

/** Opens a session; the token is for the cookie and is stored as its hash only. */
export async function openSession(tx: Tx, user_id: string): Promise<{ token: string }> {
  const token = newToken();
  await tx.insert(sessions).values({
    token_hash: sha256Hex(token),
    user_id,
    expires_at: sql`now() + make_interval(days => ${SESSION_DAYS})`,
  });
  return { token };
}

/** Ends the session on the server, at once in every process. */
export async function closeSession(tx: Tx, session_id: string): Promise<void> {
  await tx.delete(sessions).where(eq(sessions.id, session_id));
  signal(tx, 'credentials', session_id);
}

/** Ends all sessions of a user but `except`. */
export async function closeUserSessions(
  tx: Tx,
  user_id: string,
  except: string | null = null,
): Promise<void> {
  await tx
    .delete(sessions)
    .where(sql`${sessions.user_id} = ${user_id} and ${sessions.id} is distinct from ${except}::uuid`);
  signal(tx, 'credentials', user_id);
}

interface SessionRow extends Record<string, unknown> {
  session_id: string;
  user_id: string;
  name: string;
  instance_role: InstanceRole;
  roles: Record<string, CompanyRole> | null;
}

/** The user behind a session token's hash, with the roles in all companies that are not in the trash: one statement. */
export async function resolveSession(tx: Tx, token_hash: string): Promise<UserActor | undefined> {
  const { rows } = await tx.execute<SessionRow>(sql`
    select s.id as session_id, u.id as user_id, u.display_name as name, u.instance_role,
      (select jsonb_object_agg(m.company_id, m.role) from memberships m
        join companies c on c.id = m.company_id and c.deleted_at is null where m.user_id = u.id) as roles
    from sessions s join users u on u.id = s.user_id
    where s.token_hash = ${token_hash} and s.expires_at > now() and u.is_active`);
  const row = rows[0];
  if (!row) return undefined;
  const { session_id, user_id, name, instance_role } = row;
  return { kind: 'user', user_id, name, instance_role, session_id, roles: row.roles ?? {} };
}

/** Those of the sessions that still stand, in one statement. */
export async function aliveSessions(tx: Tx, session_ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    select id from sessions where expires_at > now()
      and id in (select jsonb_array_elements_text(${JSON.stringify(session_ids)}::jsonb)::uuid)`);
  return new Set(rows.map(({ id }) => id));
}

export async function deleteExpiredSessions(tx: Tx): Promise<void> {
  await tx.delete(sessions).where(lt(sessions.expires_at, sql`now()`));
}
