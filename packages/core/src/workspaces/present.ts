import type { Workspace } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { eq } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { type IssueRow, issueUpdated } from '../issues/index.ts';
import { shownColumns } from '../trash/index.ts';

const { workspaces } = schema;

/** Without a project that is in the trash. */
const shownWorkspace = shownColumns(workspaces);

export type WorkspaceRow = typeof workspaces.$inferSelect;

export function presentWorkspace(row: WorkspaceRow): Workspace {
  return {
    id: row.id,
    company_id: row.company_id,
    issue_id: row.issue_id,
    project_id: row.project_id,
    kind: row.kind as Workspace['kind'],
    repo_url: row.repo_url,
    base_branch: row.base_branch,
    branch: row.branch,
    state: row.state as Workspace['state'],
    error: row.error,
    base_commit: row.base_commit,
    head_commit: row.head_commit,
    has_uncommitted: row.work_commit !== row.head_commit,
    pushed_commit: row.pushed_commit,
    pushed_at: row.pushed_at,
    commit_count: row.commit_count,
    file_count: row.file_count,
    additions: row.additions,
    deletions: row.deletions,
    truncated: row.truncated,
    review_state: row.review_state as Workspace['review_state'],
    check_status: row.check_status as Workspace['check_status'],
    check_output: row.check_output,
    checked_at: row.checked_at,
    size_bytes: row.size_bytes,
    last_run_id: row.last_run_id,
    last_used_at: row.last_used_at,
    removed_at: row.removed_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** Undefined if no program has worked on the issue. */
export async function findWorkspace(tx: Tx, issue: { id: string }): Promise<WorkspaceRow | undefined> {
  const [row] = await tx.select(shownWorkspace).from(workspaces).where(eq(workspaces.issue_id, issue.id));
  return row;
}

/** @throws notFound */
export async function workspaceOf(tx: Tx, issue: { id: string }): Promise<WorkspaceRow> {
  const row = await findWorkspace(tx, issue);
  if (row === undefined) throw notFound();
  return row;
}

/** Reported as a change of the issue, so pages that show the issue read its workspace again. */
export function workspaceChange(
  issue: IssueRow,
  action: string,
  entity: { type: string; id: string },
  details: Record<string, unknown> = {},
): Change {
  return {
    ...issueUpdated(issue, action, { issue_id: issue.id, ...details }),
    entity_type: entity.type,
    entity_id: entity.id,
  };
}
