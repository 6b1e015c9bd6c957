import type { DiffQuery, FilesQuery, WorkspaceCommit, WorkspaceDiff, WorkspaceFile } from '@acp/contract';
import { type Page, readWithinBytes, schema, type Tx } from '@acp/db';
import { decodeCursor, encodeCursor } from '@acp/kernel';
import { and, asc, eq, getTableColumns, gt, isNull } from 'drizzle-orm';
import type { WorkspaceRow } from './present.ts';

const { workspace_commits, workspace_files } = schema;

const FILES = 200;
const DIFFS = 20;
const LARGEST = 200;

const { patch: _patch, ...short } = getTableColumns(workspace_files);
type FileRow = Omit<typeof workspace_files.$inferSelect, 'patch'>;

/** By path, without diffs; empty for a run unknown to the workspace. @throws invalid for a bad cursor */
export async function listChangedFiles(
  tx: Tx,
  workspace: WorkspaceRow,
  query: FilesQuery,
): Promise<Page<WorkspaceFile>> {
  const size = Math.min(query.limit ?? FILES, LARGEST);
  const rows = await tx
    .select(short)
    .from(workspace_files)
    .where(filesOf(workspace, query))
    .orderBy(asc(workspace_files.position))
    .limit(size + 1);
  return pageOf(rows, size, presentFile);
}

/** The same with diffs, as many as fit in a response. @throws invalid for a bad cursor */
export async function listDiffs(
  tx: Tx,
  workspace: WorkspaceRow,
  query: DiffQuery,
): Promise<Page<WorkspaceDiff>> {
  const size = Math.min(query.limit ?? DIFFS, LARGEST);
  const list = tx
    .select()
    .from(workspace_files)
    .where(
      and(
        filesOf(workspace, query),
        query.path === undefined ? undefined : eq(workspace_files.path, query.path),
      ),
    )
    .orderBy(asc(workspace_files.position))
    .limit(size + 1);
  const { rows, more } = await readWithinBytes(tx, list);
  return pageOf(rows, more ? Math.min(size, rows.length) : size, presentDiff, more);
}

/** Whether this run has changed any files. */
export async function hasChangedFiles(tx: Tx, run_id: string): Promise<boolean> {
  const rows = await tx
    .select({ id: workspace_files.id })
    .from(workspace_files)
    .where(eq(workspace_files.run_id, run_id))
    .limit(1);
  return rows.length > 0;
}

/** Newest first. @throws invalid for a bad cursor */
export async function listCommits(
  tx: Tx,
  workspace: WorkspaceRow,
  query: { limit?: number; cursor?: string },
): Promise<Page<WorkspaceCommit>> {
  const size = Math.min(query.limit ?? LARGEST, LARGEST);
  const after = placeIn(query.cursor);
  const rows = await tx
    .select()
    .from(workspace_commits)
    .where(
      and(
        eq(workspace_commits.workspace_id, workspace.id),
        after === undefined ? undefined : gt(workspace_commits.position, after),
      ),
    )
    .orderBy(asc(workspace_commits.position))
    .limit(size + 1);
  return pageOf(rows, size, ({ sha, author_name, subject, committed_at }) => ({
    sha,
    author_name,
    subject,
    committed_at,
  }));
}

function filesOf(workspace: WorkspaceRow, { run_id, cursor }: FilesQuery) {
  const after = placeIn(cursor);
  return and(
    eq(workspace_files.workspace_id, workspace.id),
    run_id === undefined ? isNull(workspace_files.run_id) : eq(workspace_files.run_id, run_id),
    after === undefined ? undefined : gt(workspace_files.position, after),
  );
}

function placeIn(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  const [place] = decodeCursor(cursor, ['integer']);
  return Number(place);
}

function pageOf<Row extends { position: number }, T>(
  rows: readonly Row[],
  size: number,
  present: (row: Row) => T,
  more = rows.length > size,
): Page<T> {
  const items = rows.slice(0, size);
  const last = items.at(-1);
  return {
    items: items.map(present),
    next_cursor: more && last !== undefined ? encodeCursor([last.position]) : null,
  };
}

function presentFile(row: FileRow): WorkspaceFile {
  return {
    id: row.id,
    path: row.path,
    old_path: row.old_path,
    status: row.status as WorkspaceFile['status'],
    additions: row.additions,
    deletions: row.deletions,
    binary: row.binary,
    patch_truncated: row.patch_truncated,
  };
}

const presentDiff = (row: FileRow & { patch: string | null }): WorkspaceDiff => ({
  ...presentFile(row),
  patch: row.patch,
});
