/**
 * Owns `approvals`, `approval_comments` and `approval_snoozes`. Invariants: only people resolve approvals, never agents; an approval is resolved
 * once, however many try; an approved `hire_agent` or `install` is carried out once, in the transaction that sets `applied_at`;
 * if that fails, the reason is recorded and people decide (docs/states/approval.md).
 */
export { applyApproval, failApproval, sweepUnappliedApprovals } from './apply-approval.ts';
export type { InstallAppliers } from './apply-approval.ts';
export { createApprovalComment, findApprovalComment, listApprovalComments } from './comments.ts';
export { createApproval, resubmitApproval } from './create-approval.ts';
export { presentApproval } from './present.ts';
export { findApproval, listApprovals, openApprovalsOf } from './read-approvals.ts';
export { requestApproval, requestInstallApproval } from './request-install.ts';
export { approve, decideApprovals, reject, requestRevision } from './resolve-approval.ts';
export {
  announceApprovalSnoozeEnds,
  approvalsAskingFor,
  approvalsSnoozedBy,
  countAsking,
  nextAsking,
  snoozeApproval,
  snoozesOf,
  unsnoozeApproval,
} from './snoozes.ts';
