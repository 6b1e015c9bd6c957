import type { Approval, ApprovalComment, ApprovalStatus, ApprovalSummary, ApprovalType } from '@acp/contract';
import { schema } from '@acp/db';
import { shownColumns } from '../trash/index.ts';
import { cutText } from '@acp/kernel';
import type { Change } from '../activity/index.ts';

export type ApprovalRow = typeof schema.approvals.$inferSelect;

/** As shown to clients: references to trashed entities are null. */
export const approvalColumns = shownColumns(schema.approvals);
type CommentRow = typeof schema.approval_comments.$inferSelect;

/** Maximum text in events (decisions 4). */
const LONGEST_EVENT_TEXT_BYTES = 2048;

function summarizeApproval(row: ApprovalRow): ApprovalSummary {
  return {
    id: row.id,
    company_id: row.company_id,
    type: row.type as ApprovalType,
    title: row.title,
    status: row.status as ApprovalStatus,
    issue_id: row.issue_id,
    requested_by_agent_id: row.requested_by_agent_id,
    requested_by_user_id: row.requested_by_user_id,
    decision_note: row.decision_note,
    decided_by_user_id: row.decided_by_user_id,
    decided_at: row.decided_at,
    applied_at: row.applied_at,
    apply_error: row.apply_error,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

export function presentApproval(row: ApprovalRow): Approval {
  return {
    ...summarizeApproval(row),
    description: row.description,
    payload: row.payload as Record<string, unknown>,
  };
}

/** @param userName the author's display name, if a user */
export function presentApprovalComment(row: CommentRow, userName: string | null): ApprovalComment {
  return {
    id: row.id,
    approval_id: row.approval_id,
    author_agent_id: row.author_agent_id,
    author_user_id: row.author_user_id,
    author_user_name: userName ?? row.author_label,
    body_markdown: row.body_markdown,
    created_at: row.created_at,
  };
}

function short(text: string | null): string | null {
  return text === null ? null : cutText(text, LONGEST_EVENT_TEXT_BYTES);
}

export function approvalChange(
  row: ApprovalRow,
  action: string,
  event: 'approval_created' | 'approval_resolved',
): Change {
  const shown = summarizeApproval(row);
  const data = {
    ...shown,
    decision_note: short(shown.decision_note),
    apply_error: short(shown.apply_error),
  };
  return {
    company_id: row.company_id,
    action: `approval.${action}`,
    entity_type: 'approval',
    entity_id: row.id,
    details: { type: row.type, title: row.title },
    event: { type: event, data },
  };
}
