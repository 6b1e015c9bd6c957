import type {
  Actor,
  Approval,
  ApprovalDecision,
  ApprovalStatus,
  DecideApprovals,
  DecidedApprovals,
} from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, cutText, forbidden, invalid, said, type ServiceError } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import { and, asc, eq, inArray, sql } from 'drizzle-orm';
import { humanActor, recordChanges } from '../activity/index.ts';
import { requestWakeups, type WakeupRequest } from '../wakeups/index.ts';
import { hasEffect, typesWithEffect } from './payload.ts';
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
  return resolve(tx, actor, approval, 'approved', decision);
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

async function resolve(
  tx: Tx,
  actor: Actor,
  approval: ApprovalRow,
  status: Decision,
  { note, updated_at }: ApprovalDecision = {},
): Promise<Approval> {
  const shown = updated_at === undefined ? null : new Date(updated_at).toISOString();
  const [row] = await resolveAll(tx, actor, [{ id: approval.id, shown }], status, note);
  if (row === undefined) throw undecided(approval, shown);
  return presentApproval(row);
}

/**
 * Decides many alike. What has changed since it was shown, or is resolved already, is left out rather than keeping the others from
 * being decided.
 * @throws forbidden for agents; invalid for an approval that is unknown or named twice
 */
export async function decideApprovals(
  tx: Tx,
  actor: Actor,
  company_id: string,
  { decision, note, approvals: asked }: DecideApprovals,
): Promise<DecidedApprovals> {
  const versions = new Map(
    asked.map(({ approval_id, updated_at }) => [approval_id, new Date(updated_at).toISOString()]),
  );
  if (versions.size < asked.length) throw invalid('approvals: an approval is listed twice');
  // In order of id: two decisions about overlapping sets take turns instead of deadlocking.
  const before = await tx
    .select(approvalColumns)
    .from(approvals)
    .where(and(eq(approvals.company_id, company_id), inArray(approvals.id, [...versions.keys()])))
    .orderBy(asc(approvals.id))
    .for('no key update');
  const known = new Set(before.map(({ id }) => id));
  const unknown = asked.find(({ approval_id }) => !known.has(approval_id));
  if (unknown !== undefined) throw invalid(said`approvals: unknown approval ${unknown.approval_id}`);
  const shown = before.map(({ id }) => ({ id, shown: versions.get(id)! }));
  const decided = new Set((await resolveAll(tx, actor, shown, decision, note)).map(({ id }) => id));
  return {
    decided: [...decided],
    left_out: before
      .filter(({ id }) => !decided.has(id))
      .map((row) => ({
        approval_id: row.id,
        title: row.title,
        reason: undecided(row, versions.get(row.id)!).message,
      })),
  };
}

type Decision = DecideApprovals['decision'];

interface Version {
  id: string;
  /** `updated_at` of what was shown; null: whatever there is. */
  shown: string | null;
}

/** The update decides: of two concurrent decisions, the second finds nothing pending. */
async function resolveAll(
  tx: Tx,
  actor: Actor,
  versions: readonly Version[],
  status: Decision,
  note: string | null = null,
): Promise<ApprovalRow[]> {
  if (!humanActor(actor)) throw forbidden('agents cannot resolve approvals');
  const ids = versions.map(({ id }) => id);
  const again = sql`or (${status} = 'approved' and ${approvals.status} = 'approved'
    and ${approvals.applied_at} is null and ${approvals.apply_error} is not null)`;
  const rows = await tx
    .update(approvals)
    .set({
      status,
      decision_note: note,
      decided_by_user_id: actor.kind === 'user' ? actor.user_id : null,
      decided_by_key_id: actor.kind === 'board_user' ? actor.key_id : null,
      decided_at: sql`now()`,
      // Without an effect it is complete: the sweep looks for approved ones that are not applied.
      applied_at:
        status === 'approved'
          ? sql`case when ${approvals.type} not in ${typesWithEffect} then now() end`
          : null,
      apply_error: null,
      updated_at: sql`now()`,
    })
    .where(
      and(
        inArray(approvals.id, ids),
        sql`(${approvals.status} = 'pending' ${again})`,
        // Timestamps in responses are cut to milliseconds.
        sql`exists (select from unnest(${sql.param(ids)}::uuid[], ${sql.param(versions.map(({ shown }) => shown))}::timestamptz[])
          as version(id, shown) where version.id = ${approvals.id}
            and (version.shown is null or date_trunc('milliseconds', ${approvals.updated_at}) = version.shown))`,
      ),
    )
    .returning(approvalColumns);
  await requestWakeups(tx, actor, wakeupsOf(rows, status));
  await recordChanges(
    tx,
    actor,
    rows.map((row) => approvalChange(row, status, 'approval_resolved')),
  );
  const toApply = status === 'approved' ? rows.filter(({ type }) => hasEffect(type)) : [];
  await enqueueMany(
    tx,
    'apply-approval',
    toApply.map(({ id }) => ({ approval_id: id })),
  );
  return rows;
}

/** In bytes: of many decisions the agent reads the beginnings. */
const LONGEST_NOTE = 2000;

/** Those who asked learn of each decision: `decisions` has all that come before they begin, by approval. */
function wakeupsOf(rows: readonly ApprovalRow[], status: ApprovalStatus): WakeupRequest[] {
  const alike = Map.groupBy(
    rows,
    ({ requested_by_agent_id, issue_id }) => `${requested_by_agent_id} ${issue_id}`,
  );
  return [...alike.values()].flatMap((decided) => {
    const { requested_by_agent_id: agent_id, company_id, issue_id, ...last } = decided.at(-1)!;
    if (agent_id === null) return [];
    const decisions = Object.fromEntries(
      decided.map(({ id, title, decision_note }) => [
        id,
        { title, status, note: decision_note && cutText(decision_note, LONGEST_NOTE) },
      ]),
    );
    const payload = { approval_id: last.id, title: last.title, status, note: last.decision_note, decisions };
    return [{ company_id, agent_id, issue_id, reason: 'approval', payload }];
  });
}

function undecided(approval: ApprovalRow, shown: string | null): ServiceError {
  if (shown !== null && approval.updated_at.toISOString() !== shown)
    return conflict('the approval has changed since it was shown');
  return notPending(approval);
}

/** Why an approval waits for no decision. */
export const notPending = ({ status }: Pick<ApprovalRow, 'status'>): ServiceError =>
  status === 'revision_requested'
    ? conflict('a revision was requested: the approval waits to be resubmitted')
    : conflict('approval is resolved already');
