/** Actions on a workspace's branch, carried out by a scheduler: push it, open a pull request, merge that. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Name, Nullable, OneOf, PageQuery, Text, Timestamp, Uuid } from './schema-kit.ts';

export const workspaceActionKinds = ['push', 'open_pull_request', 'merge'] as const;
export type WorkspaceActionKind = (typeof workspaceActionKinds)[number];

export const WorkspaceAction = Type.Object({
  id: Uuid,
  workspace_id: Uuid,
  kind: OneOf(workspaceActionKinds),
  status: OneOf(['queued', 'running', 'done', 'failed']),
  error: Nullable(Type.String()),
  created_by_user_id: Nullable(Uuid),
  created_at: Timestamp,
  finished_at: Nullable(Timestamp),
});
export type WorkspaceAction = Static<typeof WorkspaceAction>;

export const OpenPullRequest = Type.Object({
  /** Default: the identifier and title. */
  title: Type.Optional(Name),
  body_markdown: Type.Optional(Nullable(Text)),
  draft: Type.Optional(Type.Boolean()),
});
export type OpenPullRequest = Static<typeof OpenPullRequest>;

export const MergePullRequest = Type.Object({
  method: Type.Optional(OneOf(['merge', 'squash', 'rebase'])),
});
export type MergePullRequest = Static<typeof MergePullRequest>;

const onWorkspace = {
  auth: BEARER,
  scope: { by: 'issue', param: 'issueId' },
  role: 'member',
} as const;
const act = {
  ...onWorkspace,
  method: 'POST',
  // Publishing is for people to decide; a project may have every run pushed automatically.
  people_only: true,
  body_optional: true,
  response: WorkspaceAction,
  status: 201,
  tx: 'write',
} as const;

export const workspaceActionEndpoints = {
  list: endpoint({
    ...onWorkspace,
    id: 'workspace-actions.list',
    method: 'GET',
    path: '/api/issues/{issueId}/workspace/actions',
    role: 'viewer',
    query: Type.Object(PageQuery),
    response: Type.Array(WorkspaceAction),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Actions on the workspace, newest first.',
  }),
  push: endpoint({
    ...act,
    id: 'workspace-actions.push',
    path: '/api/issues/{issueId}/workspace/push',
    body: Type.Object({}),
    doc: 'Pushes the branch. If others have pushed to it in the meantime, nothing is overwritten and the action fails. 409 while another action is in progress.',
  }),
  openPullRequest: endpoint({
    ...act,
    id: 'workspace-actions.open-pull-request',
    path: '/api/issues/{issueId}/workspace/pull-request',
    body: OpenPullRequest,
    example: { draft: true },
    doc: 'Pushes the branch and opens a pull request for it (GitHub, GitLab), or finds the open one; it becomes a work product whose state is tracked.',
  }),
  merge: endpoint({
    ...act,
    id: 'workspace-actions.merge',
    path: '/api/issues/{issueId}/workspace/merge',
    body: MergePullRequest,
    example: { method: 'squash' },
    doc: 'Merges the open pull request as last pushed. If the project is set to do so, this closes the issue.',
  }),
};
