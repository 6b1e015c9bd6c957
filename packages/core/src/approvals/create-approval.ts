import type { Actor, Approval, ApprovalType, CreateApproval, ResubmitApproval } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, forbidden, invalid } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { findIssue } from '../issues/index.ts';
import { assertPayload } from './payload.ts';
import { type ApprovalRow, approvalChange, presentApproval } from './present.ts';

const { approvals } = schema;

/** @throws invalid for a payload that does not fit the type, or another company's issue */
export async function createApproval(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateApproval,
): Promise<Approval> {
  const payload = input.payload ?? {};
  assertPayload(input.type, payload);
  if (input.issue_id) {
    const issue = await findIssue(tx, input.issue_id);
    if (issue?.company_id !== company_id) throw invalid('issue_id is not an issue of the company');
  }
  // What the service itself asks for must not be lost.
  if (actor.kind !== 'system') await assertRoom(tx, 'approvals', company_id);
  const requester = actorColumns(actor);
  const [row] = await tx
    .insert(approvals)
    .values({
      company_id,
      type: input.type,
      title: input.title,
      description: input.description ?? null,
      payload,
      issue_id: input.issue_id ?? null,
      requested_by_agent_id: requester.agent_id,
      requested_by_user_id: requester.user_id,
      requested_by_key_id: actor.kind === 'board_user' ? actor.key_id : null,
    })
    .returning();
  await recordChanges(tx, actor, [approvalChange(row!, 'created', 'approval_created')]);
  return presentApproval(row!);
}

/**
 * The requester responds to a request for revision, or fixes an approved request that could not be carried out: the approval
 * becomes pending again and needs a new decision.
 * @throws forbidden for anyone else; conflict in any other state
 */
export async function resubmitApproval(
  tx: Tx,
  actor: Actor,
  approval: ApprovalRow,
  input: ResubmitApproval = {},
): Promise<Approval> {
  if (!isRequester(actor, approval)) throw forbidden('only the requester may resubmit');
  if (input.payload) assertPayload(approval.type as ApprovalType, input.payload);
  const [row] = await tx
    .update(approvals)
    .set({
      ...(input.title === undefined ? {} : { title: input.title }),
      ...(input.description === undefined ? {} : { description: input.description }),
      ...(input.payload === undefined ? {} : { payload: input.payload }),
      status: 'pending',
      decision_note: null,
      decided_by_user_id: null,
      decided_by_key_id: null,
      decided_at: null,
      apply_error: null,
      updated_at: sql`now()`,
    })
    .where(
      and(
        eq(approvals.id, approval.id),
        sql`(${approvals.status} = 'revision_requested'
          or (${approvals.status} = 'approved' and ${approvals.applied_at} is null and ${approvals.apply_error} is not null))`,
      ),
    )
    .returning();
  if (row === undefined) throw conflict('no revision was requested');
  await recordChanges(tx, actor, [approvalChange(row, 'resubmitted', 'approval_created')]);
  return presentApproval(row);
}

function isRequester(actor: Actor, approval: ApprovalRow): boolean {
  switch (actor.kind) {
    case 'agent':
      return actor.agent_id === approval.requested_by_agent_id;
    case 'user':
      return actor.user_id === approval.requested_by_user_id;
    case 'board_user':
      return actor.key_id === approval.requested_by_key_id;
    default:
      return false;
  }
}
