/** Workspaces: an issue's folder, the changes in it, and people's reviews and actions on them (decisions 10.16). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, OneOf, PageQuery, Patch, Text, Timestamp, Uuid } from './schema-kit.ts';

const workspaceKinds = ['repository', 'folder'] as const;
/** `empty`: no run has finished in it yet. `removed`: its folder is gone, unlike what was pushed or stored. */
const workspaceStates = ['empty', 'ready', 'failed', 'removed'] as const;
const reviewStates = ['none', 'pending', 'approved', 'changes_requested'] as const;
const checkStatuses = ['none', 'passed', 'failed', 'timed_out'] as const;
const fileStatuses = ['added', 'modified', 'deleted', 'renamed', 'type_changed'] as const;
const sides = ['old', 'new'] as const;
const reviewCommentStatuses = ['open', 'resolved'] as const;

const Sha = Type.String();

export const Workspace = Type.Object({
  id: Uuid,
  company_id: Uuid,
  issue_id: Uuid,
  project_id: Nullable(Uuid),
  kind: OneOf(workspaceKinds),
  repo_url: Nullable(Type.String()),
  base_branch: Nullable(Type.String()),
  branch: Nullable(Type.String()),
  state: OneOf(workspaceStates),
  /** Why it could most recently not be prepared, stored or pushed. */
  error: Nullable(Type.String()),
  /** The commit at which the branch left its base. */
  base_commit: Nullable(Sha),
  head_commit: Nullable(Sha),
  /** There are uncommitted changes. */
  has_uncommitted: Type.Boolean(),
  pushed_commit: Nullable(Sha),
  pushed_at: Nullable(Timestamp),
  commit_count: Type.Integer(),
  /** Number of files changed against the base, including uncommitted changes. */
  file_count: Type.Integer(),
  additions: Type.Integer(),
  deletions: Type.Integer(),
  /** More files have changed than are listed. */
  truncated: Type.Boolean(),
  review_state: OneOf(reviewStates),
  check_status: OneOf(checkStatuses),
  /** The end of the latest output of the project's check command. */
  check_output: Nullable(Type.String()),
  checked_at: Nullable(Timestamp),
  /** On disk, after the last run. Of a folder with too many files to be measured in time: what it has at least. */
  size_bytes: Type.Integer(),
  last_run_id: Nullable(Uuid),
  last_used_at: Nullable(Timestamp),
  removed_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Workspace = Static<typeof Workspace>;

export const WorkspaceFile = Type.Object({
  id: Uuid,
  path: Type.String(),
  /** For a renamed file. */
  old_path: Nullable(Type.String()),
  status: OneOf(fileStatuses),
  additions: Type.Integer(),
  deletions: Type.Integer(),
  binary: Type.Boolean(),
  /** The diff was longer than what is stored. */
  patch_truncated: Type.Boolean(),
});
export type WorkspaceFile = Static<typeof WorkspaceFile>;

/** `patch`: hunks in `diff -u` format, from the first `@@`; null for binary files and files without hunks. */
export const WorkspaceDiff = Type.Object({ ...WorkspaceFile.properties, patch: Nullable(Type.String()) });
export type WorkspaceDiff = Static<typeof WorkspaceDiff>;

export const WorkspaceCommit = Type.Object({
  sha: Sha,
  author_name: Type.String(),
  subject: Type.String(),
  committed_at: Nullable(Timestamp),
});
export type WorkspaceCommit = Static<typeof WorkspaceCommit>;

export const ReviewComment = Type.Object({
  id: Uuid,
  company_id: Uuid,
  issue_id: Uuid,
  path: Type.String(),
  /** Side of the diff: the file before or after. */
  side: OneOf(sides),
  /** Starts at 1. */
  line: Type.Integer(),
  line_text: Nullable(Type.String()),
  /** The commit that was reviewed. */
  commit: Nullable(Sha),
  body_markdown: Type.String(),
  status: OneOf(reviewCommentStatuses),
  author_user_id: Nullable(Uuid),
  author_agent_id: Nullable(Uuid),
  author_user_name: Nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type ReviewComment = Static<typeof ReviewComment>;

const Path = Type.String({ minLength: 1, maxLength: 4096, pattern: '^[^\\u0000]+$' });
const Remark = Type.String({ minLength: 1, maxLength: 20_000, pattern: '^[^\\u0000]*\\S[^\\u0000]*$' });

export const CreateReviewComment = Type.Object({
  path: Path,
  line: Type.Integer({ minimum: 1, maximum: 10_000_000 }),
  side: Type.Optional(OneOf(sides)),
  line_text: Type.Optional(Nullable(Type.String({ maxLength: 2000, pattern: '^[^\\u0000]*$' }))),
  body_markdown: Remark,
});
export type CreateReviewComment = Static<typeof CreateReviewComment>;

export const UpdateReviewComment = Patch({ body_markdown: Remark, status: OneOf(reviewCommentStatuses) });
export type UpdateReviewComment = Static<typeof UpdateReviewComment>;

export const ReviewWorkspace = Type.Object({
  verdict: OneOf(['approve', 'request_changes']),
  body_markdown: Type.Optional(Nullable(Text)),
});
export type ReviewWorkspace = Static<typeof ReviewWorkspace>;

const OfRun = { run_id: Type.Optional(Uuid) };
const FilesQuery = Type.Object({ ...OfRun, ...PageQuery });
export type FilesQuery = Static<typeof FilesQuery>;
const DiffQuery = Type.Object({ ...OfRun, path: Type.Optional(Path), ...PageQuery });
export type DiffQuery = Static<typeof DiffQuery>;
const CommentsQuery = Type.Object({
  status: Type.Optional(OneOf(reviewCommentStatuses)),
  ...PageQuery,
});
export type ReviewCommentsQuery = Static<typeof CommentsQuery>;

const byIssue = { auth: BEARER, scope: { by: 'issue', param: 'issueId' } } as const;
const read = { ...byIssue, method: 'GET', role: 'viewer', status: 200, tx: 'none' } as const;
const write = {
  ...byIssue,
  method: 'POST',
  role: 'member',
  permission: 'issues.update',
  tx: 'write',
} as const;
const one = {
  path: '/api/review-comments/{reviewCommentId}',
  auth: BEARER,
  role: 'member',
  scope: { by: 'review_comment', param: 'reviewCommentId' },
  permission: 'issues.update',
  tx: 'write',
} as const;

export const workspaceEndpoints = {
  get: endpoint({
    ...read,
    id: 'workspaces.get',
    path: '/api/issues/{issueId}/workspace',
    response: Workspace,
    doc: 'The issue’s workspace; 404 while no program has worked on the issue.',
  }),
  files: endpoint({
    ...read,
    id: 'workspaces.files',
    path: '/api/issues/{issueId}/workspace/files',
    query: FilesQuery,
    response: Type.Array(WorkspaceFile),
    paged: true,
    doc: 'Changed files by path: against the base or, with `run_id`, changed by that run alone.',
  }),
  diff: endpoint({
    ...read,
    id: 'workspaces.diff',
    path: '/api/issues/{issueId}/workspace/diff',
    query: DiffQuery,
    response: Type.Array(WorkspaceDiff),
    paged: true,
    doc: 'The same with their diffs, 20 a page; with `path`, of that file.',
  }),
  commits: endpoint({
    ...read,
    id: 'workspaces.commits',
    path: '/api/issues/{issueId}/workspace/commits',
    query: Type.Object(PageQuery),
    response: Type.Array(WorkspaceCommit),
    paged: true,
    doc: 'Commits of the branch that are not in its base, newest first.',
  }),
  review: endpoint({
    ...write,
    id: 'workspaces.review',
    path: '/api/issues/{issueId}/workspace/review',
    people_only: true,
    body: ReviewWorkspace,
    response: Workspace,
    status: 200,
    example: { verdict: 'request_changes', body_markdown: 'See the comments on the lines.' },
    doc: 'Approves the changes, or requests others: a comment that wakes the assignee, who receives the open line comments.',
  }),
  listComments: endpoint({
    ...read,
    id: 'review-comments.list',
    path: '/api/issues/{issueId}/review-comments',
    query: CommentsQuery,
    response: Type.Array(ReviewComment),
    paged: true,
    doc: 'Comments on lines, oldest first.',
  }),
  createComment: endpoint({
    ...write,
    id: 'review-comments.create',
    path: '/api/issues/{issueId}/review-comments',
    body: CreateReviewComment,
    response: ReviewComment,
    status: 201,
    example: { path: 'src/cart.ts', line: 12, body_markdown: 'Rounds the wrong way.' },
    doc: 'Comments on a line of the diff. The next run on the issue receives it if it is still open; it wakes no one.',
  }),
  updateComment: endpoint({
    ...one,
    id: 'review-comments.update',
    method: 'PATCH',
    body: UpdateReviewComment,
    response: ReviewComment,
    status: 200,
    example: { status: 'resolved' },
    doc: 'Resolves, reopens or edits a comment.',
  }),
  deleteComment: endpoint({
    ...one,
    id: 'review-comments.delete',
    method: 'DELETE',
    people_only: true,
    response: null,
    status: 204,
    doc: 'Deletes a line comment, as its author or an admin.',
  }),
};
