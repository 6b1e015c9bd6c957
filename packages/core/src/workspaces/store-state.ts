import type { Actor, WorkspaceFile } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { keepStorageKeys } from '../attachments/index.ts';
import { findIssue } from '../issues/index.ts';
import { type WorkspaceRow, workspaceChange } from './present.ts';

const { workspace_bundles, workspace_commits, workspace_files, workspaces } = schema;

export interface ChangedFile extends Omit<WorkspaceFile, 'id'> {
  patch: string | null;
}

export interface CommitFacts {
  sha: string;
  author_name: string;
  subject: string;
  committed_at: string | null;
}

/** Contents of a folder at the end of a run. */
export interface WorkspaceState {
  base_commit: string | null;
  head_commit: string | null;
  work_commit: string | null;
  size_bytes: number;
  file_count: number;
  additions: number;
  deletions: number;
  truncated: boolean;
  files: readonly ChangedFile[];
  /** Changed by this run alone. */
  run_files: readonly ChangedFile[];
  commits: readonly CommitFacts[];
  commit_count: number;
  /** Undefined: none is needed, and an existing one is deleted. */
  bundle?: { storage_key: string; size_bytes: number; sha256: string } | undefined;
  /** The machine of the folder. */
  place: string;
  check?: { status: 'passed' | 'failed' | 'timed_out'; output: string } | undefined;
}

/** Rows per statement: each has a dozen parameters, and PostgreSQL accepts 65,535. */
const ROWS = 500;

/**
 * Stores the state left by a run, replacing the previous one. The caller makes sure that it owns the run.
 * @returns the version. @throws conflict if another state was stored since the run began
 */
export async function storeWorkspaceState(
  tx: Tx,
  actor: Actor,
  before: Pick<WorkspaceRow, 'id' | 'issue_id' | 'version' | 'work_commit' | 'review_state'>,
  run_id: string,
  state: WorkspaceState,
): Promise<number> {
  const { base_commit, head_commit, work_commit, size_bytes, commit_count, place } = state;
  const { file_count, additions, deletions, truncated, check } = state;
  const changed = work_commit !== before.work_commit;
  // What was approved has changed.
  const review_state = changed ? (file_count === 0 ? 'none' : 'pending') : before.review_state;
  const [row] = await tx
    .update(workspaces)
    .set({
      state: 'ready',
      error: null,
      base_commit,
      head_commit,
      work_commit,
      size_bytes,
      commit_count,
      place,
      file_count,
      additions,
      deletions,
      truncated,
      review_state,
      ...(check === undefined
        ? {}
        : { check_status: check.status, check_output: check.output, checked_at: sql`now()` }),
      version: before.version + 1,
      last_run_id: run_id,
      last_used_at: sql`now()`,
      removed_at: null,
      updated_at: sql`now()`,
    })
    .where(and(eq(workspaces.id, before.id), eq(workspaces.version, before.version)))
    .returning();
  if (row === undefined) throw conflict('another state of the workspace has been stored in the meantime');
  await storeBundle(tx, row, state.bundle);
  await storeFiles(tx, row.id, null, state.files);
  await storeFiles(tx, row.id, run_id, state.run_files);
  await storeCommits(tx, row.id, state.commits);
  const issue = await findIssue(tx, before.issue_id);
  if (issue !== undefined && changed) {
    const entity = { type: 'workspace', id: row.id };
    const details = { run_id, head_commit, file_count, additions, deletions };
    await recordChanges(tx, actor, [workspaceChange(issue, 'workspace.changed', entity, details)]);
  }
  return row.version;
}

async function storeBundle(tx: Tx, row: WorkspaceRow, bundle: WorkspaceState['bundle']): Promise<void> {
  if (bundle === undefined) {
    await tx.delete(workspace_bundles).where(eq(workspace_bundles.workspace_id, row.id));
    return;
  }
  await keepStorageKeys(tx, [bundle.storage_key]);
  const values = { ...bundle, version: row.version, created_at: sql`now()` };
  await tx
    .insert(workspace_bundles)
    .values({ workspace_id: row.id, ...values })
    .onConflictDoUpdate({ target: workspace_bundles.workspace_id, set: values });
}

async function storeFiles(
  tx: Tx,
  workspace_id: string,
  run_id: string | null,
  files: readonly ChangedFile[],
): Promise<void> {
  await tx
    .delete(workspace_files)
    .where(
      and(
        eq(workspace_files.workspace_id, workspace_id),
        run_id === null ? isNull(workspace_files.run_id) : eq(workspace_files.run_id, run_id),
      ),
    );
  for (let from = 0; from < files.length; from += ROWS)
    await tx
      .insert(workspace_files)
      .values(
        files
          .slice(from, from + ROWS)
          .map((file, index) => ({ ...file, workspace_id, run_id, position: from + index })),
      );
}

async function storeCommits(tx: Tx, workspace_id: string, commits: readonly CommitFacts[]): Promise<void> {
  await tx.delete(workspace_commits).where(eq(workspace_commits.workspace_id, workspace_id));
  if (commits.length === 0) return;
  await tx.insert(workspace_commits).values(
    commits.map(({ committed_at, ...commit }, position) => ({
      ...commit,
      workspace_id,
      position,
      committed_at: committed_at === null ? null : new Date(committed_at),
    })),
  );
}

/** Records why a folder could not be created or read; the stored state stays valid. */
export async function noteWorkspaceError(tx: Tx, workspace_id: string, error: string | null): Promise<void> {
  await tx
    .update(workspaces)
    .set({
      error,
      state: sql`case when ${error}::text is not null and ${workspaces.version} = 0 then 'failed' else ${workspaces.state} end`,
      updated_at: sql`now()`,
    })
    .where(eq(workspaces.id, workspace_id));
}

/** Records that the folder of the stored version was recreated on another machine. */
export async function noteWorkspacePlace(tx: Tx, workspace_id: string, place: string): Promise<void> {
  await tx
    .update(workspaces)
    .set({
      place,
      removed_at: null,
      last_used_at: sql`now()`,
      state: sql`case when ${workspaces.state} = 'removed' then 'ready' else ${workspaces.state} end`,
    })
    .where(eq(workspaces.id, workspace_id));
}
