import type { Actor, CompanyRole, InstallKind } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { cutText, forbidden, invalid, said } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { loadAccess } from '../identity/index.ts';
import { installOf } from './payload.ts';
import { type ApprovalRow, approvalChange } from './present.ts';

const { approvals } = schema;

/**
 * The commands that carry out installs, by kind, passed in from above since their slices come after this one. Each validates its
 * body and acts with the rights of the person who approved.
 */
export type InstallAppliers = Partial<
  Record<
    InstallKind,
    (
      tx: Tx,
      actor: Actor,
      target: {
        company_id: string;
        approval_id: string;
        /** The requester, if an agent. */
        agent_id: string | null;
        body: Record<string, unknown> | string;
      },
    ) => Promise<unknown>
  >
>;

/**
 * The job `apply-approval`: carries out an approved request and marks it as applied, in one transaction. The row lock ensures
 * that this happens once; an approval that is applied, failed or not approved (any more) is left alone.
 * @throws the command's refusal; the caller rolls back and records it with `failApproval`
 */
export async function applyApproval(
  tx: Tx,
  approval_id: string,
  appliers: InstallAppliers,
): Promise<'applied' | 'nothing'> {
  const [row] = await tx
    .select()
    .from(approvals)
    .where(and(eq(approvals.id, approval_id), unapplied))
    .for('update');
  if (row === undefined) return 'nothing';
  const { kind, body } = installOf(row.type, row.payload);
  const applier = appliers[kind];
  if (applier === undefined) throw invalid(said`this instance cannot install: ${kind}`);
  const actor = await decider(tx, row);
  const { company_id, requested_by_agent_id: agent_id } = row;
  await applier(tx, actor, { company_id, approval_id: row.id, agent_id, body });
  const [applied] = await tx
    .update(approvals)
    .set({ applied_at: sql`now()`, updated_at: sql`now()` })
    .where(eq(approvals.id, row.id))
    .returning();
  await recordChanges(tx, actor, [approvalChange(applied!, 'applied', 'approval_resolved')]);
  return 'applied';
}

/** Records why it could not be carried out; only a new approval or a resubmission tries again. */
export async function failApproval(tx: Tx, approval_id: string, reason: string): Promise<void> {
  const [row] = await tx
    .update(approvals)
    .set({ apply_error: cutText(reason, 4000), updated_at: sql`now()` })
    .where(and(eq(approvals.id, approval_id), unapplied))
    .returning();
  if (row === undefined) return;
  await recordChanges(tx, systemActor('scheduler'), [
    approvalChange(row, 'apply_failed', 'approval_resolved'),
  ]);
}

const unapplied = and(
  eq(approvals.status, 'approved'),
  isNull(approvals.applied_at),
  isNull(approvals.apply_error),
  sql`exists (select from companies c where c.id = ${approvals.company_id} and c.deleted_at is null)`,
);

// Jobs start immediately; an older approval has lost its job.
const LOST_AFTER_SEC = 60;

/** Recovers lost `apply-approval` jobs. @returns how many were enqueued again */
export async function sweepUnappliedApprovals(tx: Tx, limit = 200): Promise<number> {
  const rows = await tx
    .select({ approval_id: approvals.id })
    .from(approvals)
    .where(and(unapplied, sql`${approvals.decided_at} < now() - make_interval(secs => ${LOST_AFTER_SEC})`))
    .orderBy(approvals.decided_at)
    .limit(limit);
  await enqueueMany(tx, 'apply-approval', rows);
  return rows.length;
}

/** The approver with current rights: nothing is done on behalf of someone who may not do it any more. */
async function decider(tx: Tx, row: ApprovalRow): Promise<Actor> {
  const actor = row.decided_by_user_id === null ? await decidingKey(tx, row) : await decidingUser(tx, row);
  if (actor === undefined) throw forbidden('the approver no longer has the rights for this');
  return actor;
}

async function decidingUser(tx: Tx, row: ApprovalRow): Promise<Actor | undefined> {
  const user_id = row.decided_by_user_id!;
  const access = (await loadAccess(tx, [user_id])).get(user_id);
  if (access === undefined) return undefined;
  const role = access.roles[row.company_id];
  if (access.instance_role !== 'admin' && (role === undefined || role === 'viewer')) return undefined;
  const { rows } = await tx.execute<{ name: string }>(
    sql`select display_name as name from users where id = ${user_id}`,
  );
  return { kind: 'user', user_id, name: rows[0]?.name ?? '', session_id: null, ...access };
}

async function decidingKey(tx: Tx, row: ApprovalRow): Promise<Actor | undefined> {
  const { rows } = await tx.execute<{ role: CompanyRole; label: string | null }>(
    sql`select role, label from board_user_keys
      where id = ${row.decided_by_key_id} and company_id = ${row.company_id} and coalesce(expires_at > now(), true)`,
  );
  const [key] = rows;
  if (key === undefined || key.role === 'viewer') return undefined;
  return {
    kind: 'board_user',
    key_id: row.decided_by_key_id!,
    company_id: row.company_id,
    role: key.role,
    name: key.label ?? 'board key',
  };
}
