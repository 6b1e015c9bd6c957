import type { CompanyRole, InstanceRole, Session, UserActor, Preferences } from '@acp/contract';
import { inOrder, type Tx, schema, signal } from '@acp/db';
import { newToken, notFound, sha256Hex } from '@acp/kernel';
import { and, desc, eq, lt, sql } from 'drizzle-orm';
import { recordSecurityEvents, type SignInPlace } from '../security/index.ts';
import { endLinks } from './account-links.ts';
import { hasSecondFactor, requiresSecondFactor } from './second-factor-rule.ts';

const { sessions, sign_in_steps } = schema;

/** Lifetime of a session (specification, Limits). */
export const SESSION_DAYS = 7;

const MAX_LISTED = 200;
/** A script that signs in for every call would otherwise leave one for each, for a week. */
const MOST_OF_USER = 100;

/** Neither expired nor, if a setting limits idleness, idle for too long. */
const standing = sql`sessions.expires_at > now() and sessions.last_seen_at > now() - coalesce(
  (select make_interval(mins => value::int) from instance_settings where key = 'session_idle_minutes'), interval '100 years')`;

/** How and from where a session was signed in. */
export interface SignInOrigin {
  /** `password`, `passkey`, or the provider's name. */
  method: string;
  place: SignInPlace;
}

/**
 * Opens a session; the token goes into the cookie, and only its hash is stored. Beyond a hundred, those unused for longest end.
 */
export async function openSession(
  tx: Tx,
  user_id: string,
  origin: SignInOrigin | null = null,
): Promise<{ token: string }> {
  const token = newToken();
  await tx.insert(sessions).values({
    token_hash: sha256Hex(token),
    user_id,
    method: origin?.method,
    address: origin?.place.address,
    user_agent: origin?.place.user_agent?.slice(0, 300),
    expires_at: sql`now() + make_interval(days => ${SESSION_DAYS})`,
  });
  const { rows } = await tx.execute<{ id: string }>(sql`
    delete from sessions where id in (
      select id from sessions where user_id = ${user_id}
      order by last_seen_at desc, created_at desc, id desc offset ${MOST_OF_USER}
    ) returning id`);
  for (const { id } of rows) signal(tx, 'credentials', id);
  return { token };
}

/** Ends the session, effective immediately in every process. */
export async function closeSession(tx: Tx, session_id: string): Promise<void> {
  await tx.delete(sessions).where(eq(sessions.id, session_id));
  signal(tx, 'credentials', session_id);
}

/** Ends all of a user's sessions except `except`. */
export async function closeUserSessions(
  tx: Tx,
  user_id: string,
  except: string | null = null,
): Promise<void> {
  // In the order in which they are marked as seen.
  const theirs = sql`${sessions.user_id} = ${user_id} and ${sessions.id} is distinct from ${except}::uuid`;
  await tx.delete(sessions).where(inOrder(sessions, theirs));
  // A half-completed sign-in must not continue with outdated credentials.
  await tx.delete(sign_in_steps).where(eq(sign_in_steps.user_id, user_id));
  // Nor must an earlier link for a new password.
  await endLinks(tx, user_id, 'reset_password');
  signal(tx, 'credentials', user_id);
}

/** The user's active sessions, most recently used first. */
export async function listSessions(tx: Tx, actor: UserActor): Promise<Session[]> {
  const rows = await tx
    .select()
    .from(sessions)
    .where(and(eq(sessions.user_id, actor.user_id), standing))
    .orderBy(desc(sessions.last_seen_at), desc(sessions.id))
    .limit(MAX_LISTED);
  return rows.map(({ id, method, address, user_agent, created_at, last_seen_at, expires_at }) => ({
    id,
    current: id === actor.session_id,
    method,
    address,
    user_agent,
    created_at,
    last_seen_at,
    expires_at,
  }));
}

/** @throws notFound for another user's session */
export async function endOwnSession(tx: Tx, actor: UserActor, session_id: string): Promise<void> {
  const mine = and(eq(sessions.id, session_id), eq(sessions.user_id, actor.user_id));
  if ((await tx.$count(sessions, mine)) === 0) throw notFound();
  await closeSession(tx, session_id);
  await noteEnded(tx, actor, { session_id });
}

export async function endOtherSessions(tx: Tx, actor: UserActor): Promise<void> {
  await closeUserSessions(tx, actor.user_id, actor.session_id);
  await noteEnded(tx, actor, { sessions: 'all others' });
}

async function noteEnded(tx: Tx, actor: UserActor, details: Record<string, unknown>): Promise<void> {
  const { user_id, name: subject } = actor;
  await recordSecurityEvents(tx, [{ kind: 'session.ended', user_id, subject, details }]);
}

interface SessionRow extends Record<string, unknown> {
  session_id: string;
  user_id: string;
  name: string;
  instance_role: InstanceRole;
  roles: Record<string, CompanyRole> | null;
  must_enrol: boolean;
  preferences: Preferences;
}

/** The user behind a session token's hash, with roles in all companies that are not in the trash: one statement. */
export async function resolveSession(tx: Tx, token_hash: string): Promise<UserActor | undefined> {
  const { rows } = await tx.execute<SessionRow>(sql`
    select sessions.id as session_id, u.id as user_id, u.display_name as name, u.instance_role, u.preferences,
      (select jsonb_object_agg(m.company_id, m.role) from memberships m
        join companies c on c.id = m.company_id and c.deleted_at is null where m.user_id = u.id) as roles,
      ${requiresSecondFactor} and not ${hasSecondFactor} as must_enrol
    from sessions join users u on u.id = sessions.user_id
    where sessions.token_hash = ${token_hash} and ${standing} and u.is_active`);
  const row = rows[0];
  if (!row) return undefined;
  const { session_id, user_id, name, instance_role, must_enrol, preferences } = row;
  const actor: UserActor = { kind: 'user', user_id, name, instance_role, session_id, roles: row.roles ?? {} };
  const looks = Object.keys(preferences).length > 0 ? { preferences } : {};
  return { ...actor, ...looks, ...(must_enrol ? { must_enrol } : {}) };
}

/** Which of the sessions are still valid and may do more than set up a second factor, in one statement. */
export async function aliveSessions(tx: Tx, session_ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    select sessions.id from sessions join users u on u.id = sessions.user_id
    where ${standing} and not (${requiresSecondFactor} and not ${hasSecondFactor})
      and sessions.id in (select jsonb_array_elements_text(${JSON.stringify(session_ids)}::jsonb)::uuid)`);
  return new Set(rows.map(({ id }) => id));
}

/** Records the times of last requests: batched, off the request path. In one order, since other processes record the same ones. */
export async function markSessionsSeen(tx: Tx, session_ids: readonly string[]): Promise<void> {
  await tx.execute(sql`
    update sessions set last_seen_at = now() where id in (
      select id from sessions where last_seen_at < now() - interval '30 seconds'
        and id in (select jsonb_array_elements_text(${JSON.stringify(session_ids)}::jsonb)::uuid)
      order by id for no key update)`);
}

/** Deletes sessions that have expired, or were idle for longer than the setting allows. */
export async function deleteExpiredSessions(tx: Tx): Promise<void> {
  await tx.delete(sessions).where(sql`not (${standing})`);
  await tx.delete(sign_in_steps).where(lt(sign_in_steps.expires_at, sql`now()`));
}
