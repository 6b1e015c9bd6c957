/**
 * Owns `issues`, `labels`, `issue_labels` and `issue_relations`. Invariants: numbers are unique and without gaps per
 * company; one holder per checkout; terminal issues are held by nobody; `blocks` and `depends_on` have no cycle.
 */
export { findIssue, resolveIssueRef } from './find-issue.ts';
export { presentIssue, presentLabel, presentRelation, summarizeIssue } from './present.ts';
export type { IssueRow, LabelRow, RelationRow } from './rows.ts';
export { checkoutForRun, noteRunOutcome, releaseAfterRun, STALLED_RUNS_LIMIT } from './run-effects.ts';
export type { RunCheckout, RunOfIssue } from './run-effects.ts';
export * from './signatures.ts';
