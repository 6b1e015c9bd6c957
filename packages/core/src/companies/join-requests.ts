import type { Actor, JoinRequest, UserActor } from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, signal, type Tx } from '@acp/db';
import { conflict, notFound } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { personBehind } from './answerable.ts';
import { findCompany } from './companies.ts';
import { findInLiveCompany } from './find-in-company.ts';
import { isMember } from './members.ts';

const { join_requests, memberships } = schema;

type JoinRequestRow = typeof join_requests.$inferSelect;

function present(row: JoinRequestRow): JoinRequest {
  return {
    id: row.id,
    company_id: row.company_id,
    user_id: row.user_id,
    status: row.status as JoinRequest['status'],
    message: row.message,
    resolved_by: row.resolved_by,
    resolved_at: row.resolved_at,
    created_at: row.created_at,
  };
}

export async function findJoinRequest(tx: Tx, id: string): Promise<JoinRequestRow | undefined> {
  return findInLiveCompany(tx, join_requests, id);
}

/** Newest first; at most 1,000 or 4 MB unless a limit is given. */
export async function listJoinRequests(
  tx: Tx,
  company_id: string,
  { status, ...page }: PageRequest & { status?: JoinRequest['status'] },
): Promise<Page<JoinRequest>> {
  const plan = newestFirst(join_requests.created_at, join_requests.id, page, null);
  const rows = tx
    .select()
    .from(join_requests)
    .where(
      and(eq(join_requests.company_id, company_id), status && eq(join_requests.status, status), plan.where),
    )
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.read(tx, rows, byCreation, present);
}

/**
 * Requests membership; if the same user already has a pending request, that one is returned (`created` false).
 * @throws notFound for an unknown company, conflict for a member
 */
export async function requestToJoin(
  tx: Tx,
  actor: UserActor,
  { company_id, message }: { company_id: string; message?: string | null },
): Promise<{ request: JoinRequest; created: boolean }> {
  const { user_id } = actor;
  if (!(await findCompany(tx, company_id))) throw notFound('unknown company');
  if (await isMember(tx, company_id, user_id)) throw conflict('already a member');
  const values = { company_id, user_id, message: message ?? null };
  const [row] = await tx.insert(join_requests).values(values).onConflictDoNothing().returning();
  if (row) {
    await recordChanges(tx, actor, [entry(row, 'created')]);
    return { request: present(row), created: true };
  }
  const mine = and(eq(join_requests.company_id, company_id), eq(join_requests.user_id, user_id));
  const [pending] = await tx
    .select()
    .from(join_requests)
    .where(and(mine, eq(join_requests.status, 'pending')));
  // It existed a moment ago: an admin has just resolved it.
  if (!pending) throw conflict('the request has just been resolved');
  return { request: present(pending), created: false };
}

/** Approval makes the user a member; someone who has become one in the meantime keeps their role. @throws conflict if resolved */
export async function resolveJoinRequest(
  tx: Tx,
  actor: Actor,
  request: JoinRequestRow,
  status: 'approved' | 'rejected',
): Promise<JoinRequest> {
  const resolved_by = await personBehind(tx, actor);
  const [row] = await tx
    .update(join_requests)
    .set({ status, resolved_by, resolved_at: sql`now()` })
    .where(and(eq(join_requests.id, request.id), eq(join_requests.status, 'pending')))
    .returning();
  if (!row) throw conflict('the request is already resolved');
  const { company_id, user_id } = row;
  if (status === 'approved') await assertRoom(tx, 'members', company_id);
  const joined =
    status === 'approved'
      ? await tx
          .insert(memberships)
          .values({ company_id, user_id, role: 'member' })
          .onConflictDoNothing()
          .returning({ id: memberships.id })
      : [];
  if (joined.length > 0) signal(tx, 'credentials', user_id);
  const added = { company_id, action: 'member.added', entity_type: 'user', entity_id: user_id };
  await recordChanges(tx, actor, [
    entry(row, status),
    ...joined.map(() => ({ ...added, details: { role: 'member' } })),
  ]);
  return present(row);
}

function entry(row: JoinRequestRow, verb: string): Change {
  const { message: _, ...data } = present(row);
  const { company_id, id, user_id } = data;
  return {
    company_id,
    action: `join_request.${verb}`,
    entity_type: 'join_request',
    entity_id: id,
    details: { user_id },
    event: { type: 'join_request', data },
  };
}
