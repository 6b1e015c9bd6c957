import type { Actor, Approval, ApprovalDecision, ApprovalStatus } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, forbidden, type ServiceError } from '@acp/kernel';
import { enqueue } from '@acp/queue';
import { and, eq, sql } from 'drizzle-orm';
import { humanActor, recordChanges } from '../activity/index.ts';
import { requestWakeups } from '../wakeups/index.ts';
import { hasEffect } from './payload.ts';
import { type ApprovalRow, approvalChange, presentApproval, approvalColumns } from './present.ts';

const { approvals } = schema;

/**
 * Approves, and has the job `apply-approval` carry out the request. Approving one that could not be carried out tries again, with
 * the rights of the current approver.
 * @throws forbidden for agents, conflict if it is already resolved
 */
export async function approve(
  tx: Tx,
  actor: Actor,
  approval: ApprovalRow,
  decision?: ApprovalDecision,
): Promise<Approval> {
  const resolved = await resolve(tx, actor, approval, 'approved', decision);
  if (hasEffect(approval.type)) await enqueue(tx, 'apply-approval', { approval_id: approval.id });
  return resolved;
}

/** @throws like `approve` */
export async function reject(
  tx: Tx,
  actor: Actor,
  approval: ApprovalRow,
  decision?: ApprovalDecision,
): Promise<Approval> {
  return resolve(tx, actor, approval, 'rejected', decision);
}

/** Lets the requester resubmit. @throws like `approve` */
export async function requestRevision(
  tx: Tx,
  actor: Actor,
  approval: ApprovalRow,
  decision?: ApprovalDecision,
): Promise<Approval> {
  return resolve(tx, actor, approval, 'revision_requested', decision);
}

/** The update decides: of two concurrent decisions, the second finds nothing pending. */
async function resolve(
  tx: Tx,
  actor: Actor,
  approval: ApprovalRow,
  status: ApprovalStatus,
  decision: ApprovalDecision = {},
): Promise<Approval> {
  if (!humanActor(actor)) throw forbidden('agents cannot resolve approvals');
  const shown = decision.updated_at === undefined ? undefined : new Date(decision.updated_at).toISOString();
  const again = sql`or (${status} = 'approved' and ${approvals.status} = 'approved'
    and ${approvals.applied_at} is null and ${approvals.apply_error} is not null)`;
  const [row] = await tx
    .update(approvals)
    .set({
      status,
      decision_note: decision.note ?? null,
      decided_by_user_id: actor.kind === 'user' ? actor.user_id : null,
      decided_by_key_id: actor.kind === 'board_user' ? actor.key_id : null,
      decided_at: sql`now()`,
      // Without an effect it is complete: the sweep looks for approved ones that are not applied.
      applied_at: status === 'approved' && !hasEffect(approval.type) ? sql`now()` : null,
      apply_error: null,
      updated_at: sql`now()`,
    })
    .where(
      and(
        eq(approvals.id, approval.id),
        sql`(${approvals.status} = 'pending' ${again})`,
        // Timestamps in responses are cut to milliseconds.
        decision.updated_at === undefined
          ? undefined
          : sql`date_trunc('milliseconds', ${approvals.updated_at}) = ${shown}::timestamptz`,
      ),
    )
    .returning(approvalColumns);
  if (row === undefined) throw undecided(approval, shown);
  if (row.requested_by_agent_id !== null) {
    await requestWakeups(tx, actor, [
      {
        company_id: row.company_id,
        agent_id: row.requested_by_agent_id,
        issue_id: row.issue_id,
        reason: 'approval',
        payload: { approval_id: row.id, title: row.title, status, note: row.decision_note },
      },
    ]);
  }
  await recordChanges(tx, actor, [approvalChange(row, status, 'approval_resolved')]);
  return presentApproval(row);
}

function undecided(approval: ApprovalRow, shown: string | undefined): ServiceError {
  if (shown !== undefined && approval.updated_at.toISOString() !== shown)
    return conflict('the approval has changed since it was shown');
  return notPending(approval);
}

/** Why an approval waits for no decision. */
export const notPending = ({ status }: Pick<ApprovalRow, 'status'>): ServiceError =>
  status === 'revision_requested'
    ? conflict('a revision was requested: the approval waits to be resubmitted')
    : conflict('approval is resolved already');
