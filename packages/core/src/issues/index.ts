/**
 * Owns `issues`, `labels`, `issue_labels` and `issue_relations`. Invariants: numbers are unique and increasing per company; an
 * issue is checked out by one agent at most, and by none once it is closed; `blocks` and `depends_on` form no cycles, unless one
 * issue says both of the same other one. Closing an issue locks everything that may be waiting for it, in id order.
 */
export { findIssue, type IssueName, issueNames, resolveIssueRef } from './find-issue.ts';
export { issueUpdated, presentIssue, summarizeIssue } from './present.ts';
export { notTrashed, toIssueRow } from './rows.ts';
export type { IssueRow } from './rows.ts';
export { insertIssueLabels, insertIssues, insertLabels, insertRelations } from './insert-issues.ts';
export type { NewIssue, NewRelation } from './insert-issues.ts';
export { createIssue } from './create-issue.ts';
export { countIssues, listIssues } from './list-issues.ts';
export { countBoard, MOST_COUNTED, readBoard, readBoardCards, readBoardColumn } from './board.ts';
export type { BoardCard, BoardColumn, BoardFilter } from './board.ts';
export { readFamily } from './family.ts';
export type { Family, RelatedIssue, Relative } from './family.ts';
export { issueDetail } from './issue-detail.ts';
export { changeIssues } from './change-issues.ts';
export { updateIssue } from './update-issue.ts';
export { deleteIssue, issueAndDescendants } from './delete-issue.ts';
export { clearIssueReference, purgeIssue, restoreIssue, wakeAssignees } from './restore-issue.ts';
export { issuesAskingFor, waitsForPerson } from './attention-lists.ts';
export {
  markAllRead,
  markIssueRead,
  markIssueUnread,
  readerOf,
  settledInstant,
  unreadBy,
} from './read-marks.ts';
export { oldReadMarks, settleReads } from './settle-reads.ts';
export { announceSnoozeEnd, isSnoozed, snoozedBy, snoozeIssue } from './snoozes.ts';
export {
  checkoutIssue,
  forceReleaseIssue,
  releaseHeldBy,
  releaseIssue,
  strandedCheckouts,
} from './checkout.ts';
export { checkoutForRuns, releaseAfterRun } from './run-effects.ts';
export { actionableFor, mostUrgentFirst, openIssuesOf } from './agent-work.ts';
export { applyHumanReply, awaitInput, setNeedsRouting } from './attention.ts';
export { unblockOutside } from './unblock.ts';
export { parkIssue, enqueueSettling, unparkIssue } from './parking.ts';
export {
  addLabel,
  createLabel,
  deleteLabel,
  labelsByName,
  labelsOfIssues,
  listLabels,
  removeLabel,
} from './labels.ts';
export { createRelation, deleteRelation, findRelation, listRelations } from './relations.ts';
