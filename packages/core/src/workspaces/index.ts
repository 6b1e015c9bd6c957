/**
 * Owns `workspaces`, `workspace_bundles`, `workspace_commits`, `workspace_files`, `workspace_actions`, `pull_requests`,
 * `repository_webhooks` and `review_comments`: the folder of an issue, its changes, and their reviews. Invariants: an issue has
 * one workspace; everything stored of it belongs to one version, whose bundle contains all that its repository lacks.
 */
export { findWorkspace, presentWorkspace, workspaceOf } from './present.ts';
export { hasChangedFiles, listChangedFiles, listCommits, listDiffs } from './read-changes.ts';
export {
  createReviewComment,
  deleteReviewComment,
  findReviewComment,
  listReviewComments,
  mayDeleteReviewComment,
  updateReviewComment,
} from './review-comments.ts';
export { reviewWorkspace } from './review.ts';
export {
  claimWorkspaceAction,
  finishWorkspaceAction,
  listWorkspaceActions,
  notePushed,
  pushAfterRun,
  pushNewCommits,
  renewWorkspaceAction,
  requestWorkspaceAction,
  releaseWorkspaceAction,
  sweepWorkspaceActions,
} from './actions.ts';
export type { ClaimedAction } from './actions.ts';
export {
  claimDuePullRequests,
  claimPullRequestOf,
  keepPullRequest,
  checkPullRequestSoon,
  notePullRequest,
  notePullRequestFailure,
  pullRequestSecret,
  wasMergedSince,
} from './pull-requests.ts';
export {
  createRepositoryWebhook,
  deleteRepositoryWebhook,
  findRepositoryWebhook,
  handleHostEvent,
  verifyHostEvent,
  repositoryWebhookOf,
  settleRepositoryWebhooksOf,
} from './repository-webhooks.ts';
export type { PullRequestPlace, PullRequestRow, PullRequestState } from './pull-requests.ts';
export { markCommentsDelivered, openWorkspace } from './open-workspace.ts';
export type { WorkspaceFacts } from './open-workspace.ts';
export { noteWorkspaceError, noteWorkspacePlace, storeWorkspaceState } from './store-state.ts';
export type { ChangedFile, CommitFacts, WorkspaceState } from './store-state.ts';
export {
  abandonFolder,
  expiredWorkspaces,
  placesOfWorkspaces,
  workspacesOnMachine,
} from './clear-workspaces.ts';
