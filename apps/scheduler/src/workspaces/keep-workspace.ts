/** Captures, compares and stores what a run has left in its workspace, on behalf of the run. */
import {
  type ClaimedRun,
  lockRun,
  markCommentsDelivered,
  noteWorkspaceError,
  pushAfterRun,
  storeWorkspaceState,
} from '@acp/core';
import type { WorkspaceState } from '@acp/core';
import { transaction } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import type { HeldRun } from '../execution/held-run.ts';
import { retryTransient } from '../execution/retry-transient.ts';
import type { Transcript } from '../execution/transcript.ts';
import { RunNotHeld } from '../programs/home-files.ts';
import { storeBundle, type StoredBundle } from './bundles.ts';
import { capture, type Captured } from './capture.ts';
import { changesBetween, commitsBetween, EMPTY_TREE } from './changes.ts';
import { NOT_STORED } from './describe-workspace.ts';
import { GitError, gitText } from './git.ts';
import { problemOf, type RunWorkspace } from './run-workspace.ts';
import type { WorkspaceSources } from './sources.ts';
import { setAside, writeState } from './workspace-folder.ts';

/** Time limit; shorter once the run is cancelled. */
const KEEP_MS = 5 * 60_000;
const KEEP_CANCELLED_MS = 20_000;
const LOCAL_MS = 60_000;
/** Files named in the transcript, of each sort. */
const SHOWN = 20;

export interface Kept {
  /** Whether the run succeeded: if so, what it left uncommitted is committed in the agent's name. */
  ok: boolean;
  author: { name: string; email: string };
  check?: WorkspaceState['check'];
  /** Whether its program had the scheduler's rights. */
  as_host: boolean;
}

/**
 * Stores the contents of the folder. What can't be stored stays in the folder, and the transcript says so.
 * Throws RunNotHeld, or the reason given by `retryTransient`.
 */
export async function keepWorkspace(
  sources: WorkspaceSources,
  run: ClaimedRun,
  { held, transcript }: { held: HeldRun; transcript: Transcript },
  workspace: RunWorkspace,
  kept: Kept,
): Promise<void> {
  const time = AbortSignal.timeout(held.stopped === 'cancelled' ? KEEP_CANCELLED_MS : KEEP_MS);
  try {
    await captureAndStore({ sources, run, held, transcript, workspace, kept, signal: time });
  } catch (err) {
    held.assertOurs();
    if (err instanceof RunNotHeld) throw err;
    const problem = time.aborted ? 'there was no time left for it' : (problemOf(err) ?? outageOf(err));
    if (problem === null) throw err;
    sources.logger.warn('what a run left in its workspace is not stored', { run_id: run.run_id, error: err });
    const message = `${NOT_STORED}${problem}`;
    transcript.add('error', { message });
    await retryTransient(held, sources.logger, async () =>
      noteWorkspaceError(sources.database.db, workspace.facts.workspace.id, message),
    );
  }
}

const ofTheDisk = ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS'];

/** In plain words: the store is away, or the disk full. Null for an internal error. */
function outageOf(err: unknown): string | null {
  if (err instanceof ServiceError) return err.message;
  const code = err instanceof Error && 'code' in err ? String(err.code) : '';
  return ofTheDisk.includes(code) ? `the scheduler’s disk takes no files (${code})` : null;
}

/**
 * For a run of which nothing is stored, since files that it wrote were removed: the next one begins with the folder as stored before,
 * and the rest of this one is kept aside. Without git nothing was ever stored, and the folder stays.
 */
export async function giveUpWorkspace(
  { database, logger }: WorkspaceSources,
  { held, transcript }: { held: HeldRun; transcript: Transcript },
  { facts, place, repository }: RunWorkspace,
  why: string,
): Promise<void> {
  const left = repository === null ? null : await setAside(place);
  const message = 'nothing that the run left in its workspace is stored';
  const rest = left === null ? '' : `: the rest of it is kept aside for some days as ${left}`;
  transcript.add('error', { message: `${message}${rest}` });
  await retryTransient(held, logger, async () =>
    noteWorkspaceError(database.db, facts.workspace.id, `${message}: ${why}`),
  );
}

interface Keeping {
  sources: WorkspaceSources;
  run: ClaimedRun;
  held: HeldRun;
  transcript: Transcript;
  workspace: RunWorkspace;
  kept: Kept;
  signal: AbortSignal;
}

async function captureAndStore(keeping: Keeping): Promise<void> {
  const { sources, run, held, transcript, signal } = keeping;
  const { facts, place, repository, base, setup_hash, held: folder } = keeping.workspace;
  const { ok, author, check, as_host } = keeping.kept;
  const { config } = sources;
  if (repository === null) {
    if (ok)
      await retryTransient(held, sources.logger, async () =>
        markCommentsDelivered(sources.database.db, facts, run.agent_id),
      );
    return;
  }
  const { workspace, issue, project } = facts;
  const kind = workspace.kind === 'repository' ? 'repository' : 'folder';
  const from = workspace.base_commit ?? base?.commit ?? null;
  await folder.assertInPlace();
  const captured = await capture(
    config,
    { ...place, identity: folder.identity },
    {
      repository,
      workspace_id: workspace.id,
      kind,
      base_commit: from,
      head_commit: workspace.head_commit,
      commit: ok || kind === 'folder',
      message: `${issue.identifier}: ${issue.title}\n\nIssue: ${issue.identifier}\n`,
      author,
    },
    { run_id: run.run_id, as_host, signal },
  );
  reportLeftOut(transcript, captured, kind);
  const changes = await compareWithBase(
    repository,
    { captured, from, base, before: workspace.work_commit },
    signal,
  );
  const state: Omit<WorkspaceState, 'bundle'> = {
    ...changes,
    head_commit: captured.head,
    work_commit: captured.work,
    // What could not be counted to its end is likely what it was before.
    size_bytes: captured.is_larger
      ? Math.max(captured.size_bytes, workspace.size_bytes)
      : captured.size_bytes,
    place: await sources.place(),
    check,
  };
  const isNew = captured.work !== null && captured.work !== changes.base_commit;
  const store = async (bundle?: StoredBundle): Promise<number> =>
    retryTransient(held, sources.logger, async () =>
      transaction(sources.database, async (tx) => {
        const version = await storeWorkspaceState(tx, run.actor, workspace, run.run_id, { ...state, bundle });
        if (ok) await markCommentsDelivered(tx, facts, run.agent_id);
        if (ok && project?.push_after_run === true && isNew) await pushAfterRun(tx, workspace);
        if (!(await lockRun(tx, run))) throw new RunNotHeld();
        return version;
      }),
    );
  const of = { repository, workspace_id: workspace.id, base: changes.base_commit };
  const version = isNew ? await storeBundle(sources, of, signal, store) : await store();
  await writeState(place, { workspace_id: workspace.id, version, setup_hash });
}

/** Says in the transcript what the captured state lacks. */
function reportLeftOut(transcript: Transcript, captured: Captured, kind: 'repository' | 'folder'): void {
  if (captured.is_larger)
    transcript.add('log', {
      message: `the folder has too many files to be measured in time: it has at least ${captured.size_bytes} bytes`,
    });
  const too_large = captured.too_large.slice(0, SHOWN);
  for (const path of too_large) transcript.add('log', { message: `${path} is too large to be kept` });
  if (captured.too_large_count > too_large.length)
    transcript.add('log', {
      message: `${captured.too_large_count - too_large.length} more files are too large to be kept`,
    });
  const nested = captured.nested.slice(0, SHOWN);
  for (const path of nested)
    transcript.add('log', { message: `${path} is a working folder of its own repository: it is not kept` });
  if (captured.nested_count > nested.length)
    transcript.add('log', {
      message: `${captured.nested_count - nested.length} more working folders of their own repositories are not kept`,
    });
  if (kind === 'repository' && captured.own_repository !== 'read')
    transcript.add('error', {
      message: `the repository in the folder is ${captured.own_repository}: its files are kept, its new commits are not`,
    });
}

type Changes = Omit<
  WorkspaceState,
  'head_commit' | 'work_commit' | 'size_bytes' | 'place' | 'check' | 'bundle'
>;

/** Works in the service's own repository, where nothing of the agent's runs. */
async function compareWithBase(
  repository: string,
  {
    captured: { head, work },
    from,
    base,
    before,
  }: {
    captured: { head: string | null; work: string | null };
    from: string | null;
    base: RunWorkspace['base'];
    before: string | null;
  },
  signal: AbortSignal,
): Promise<Changes> {
  if (work === null) {
    const none = { files: [], run_files: [], commits: [], commit_count: 0 };
    return { ...none, base_commit: from, file_count: 0, additions: 0, deletions: 0, truncated: false };
  }
  // Commits of the base that were merged in are not changes of the branch.
  const base_commit = base === null ? null : await forkOf(repository, base.commit, work, from, signal);
  const start = base_commit ?? EMPTY_TREE;
  const all = await changesBetween(repository, start, work, signal);
  // The first run has changed whatever has been changed.
  const isFirst = before === null || before === start;
  const run = isFirst ? all : await changesBetween(repository, before, work, signal);
  const { commits, count } = await commitsBetween(repository, base_commit, head ?? work, signal);
  return { ...all, run_files: run.files, commits, commit_count: count, base_commit };
}

async function forkOf(
  repository: string,
  base: string,
  work: string,
  known: string | null,
  signal: AbortSignal,
): Promise<string | null> {
  const args = ['merge-base', base, work];
  return gitText({ cwd: repository, args, signal, timeout_ms: LOCAL_MS }).catch((err: unknown) => {
    // Histories without a common commit: the branch was started again from scratch.
    if (err instanceof GitError && err.code === 1) return known;
    throw err;
  });
}
