/** The workspace of a run's issue, from before its program starts until what it left is stored. */
import { stat } from 'node:fs/promises';
import {
  type ClaimedRun,
  openWorkspace,
  noteWorkspaceError,
  noteWorkspacePlace,
  resolveSecrets,
  type WorkspaceFacts,
} from '@acp/core';
import { transaction } from '@acp/db';
import { findProgram, ServiceError, UnsafePlace } from '@acp/kernel';
import type { HeldRun } from '../execution/held-run.ts';
import { retryTransient } from '../execution/retry-transient.ts';
import { RunFailure } from '../execution/run-failure.ts';
import type { Transcript } from '../execution/transcript.ts';
import { HeldFolder } from '../programs/held-folder.ts';
import { git, GitError } from './git.ts';
import { type Remote, remoteOf } from './remote-of.ts';
import { restoreObjects } from './bundles.ts';
import { whileRoom } from './room.ts';
import {
  checkOut,
  folderOf,
  holdFolder,
  checkOutFolder,
  ownHistory,
  pointToObjects,
  readState,
  setAside,
  takeOver,
  type WorkspaceFolder,
  writeState,
} from './workspace-folder.ts';
import type { WorkspaceSources } from './sources.ts';

/** A workspace in use by a run. */
export interface RunWorkspace {
  facts: WorkspaceFacts;
  place: WorkspaceFolder;
  /** Provides the objects the folder depends on, or its history; null on a machine without git: changes are not tracked. */
  repository: string | null;
  remote: Remote;
  base: { branch: string; commit: string } | null;
  held: HeldFolder;
  /** From the project, for the agent's programs and the project's commands. */
  env: Record<string, string>;
  secrets: string[];
  setup_hash: string | null;
  /** Releases the folder. */
  close(): Promise<void>;
}

/** How old the last fetch may be. A new folder should not start from an old state. */
const FETCHED_MS = 10 * 60_000;
const FETCHED_FOR_NEW_MS = 60_000;
const KEEP_BASE_MS = 10_000;

/**
 * Creates the folder of the run's issue, or finds it as the last run left it. Throws RunFailure `config` with the problem,
 * worded for the project's owner; the workspace remembers it.
 */
export async function prepareWorkspace(
  sources: WorkspaceSources,
  run: Pick<ClaimedRun, 'run_id' | 'company_id' | 'agent_id'> & { issue_id: string },
  held: HeldRun,
  transcript: Transcript,
): Promise<RunWorkspace> {
  const { database, logger } = sources;
  const facts = await retryTransient(held, logger, async () =>
    transaction(database, async (tx) => openWorkspace(tx, run)),
  );
  if (facts === undefined) throw new RunFailure('internal', 'the issue is gone');
  const tell = (message: string) => transcript.add('log', { message });
  try {
    const workspace = await prepare(sources, facts, held.signal, tell);
    if (facts.workspace.error !== null) await noteWorkspaceError(database.db, facts.workspace.id, null);
    return workspace;
  } catch (err) {
    held.assertHeld();
    const problem = problemOf(err);
    if (problem === null) throw err;
    await noteWorkspaceError(database.db, facts.workspace.id, problem);
    throw new RunFailure('config', `the workspace: ${problem}`);
  }
}

/** The problem in plain words; null for an internal error. */
export function problemOf(err: unknown): string | null {
  if (err instanceof GitError || err instanceof UnsafePlace) return err.message;
  return err instanceof ServiceError && err.kind !== 'unavailable' ? err.message : null;
}

async function prepare(
  sources: WorkspaceSources,
  facts: WorkspaceFacts,
  signal: AbortSignal,
  tell: (message: string) => void,
): Promise<RunWorkspace> {
  const { config, database, vault } = sources;
  const { workspace, project } = facts;
  if (workspace.size_bytes > config.workspace_max_size)
    throw new GitError(`the folder is larger than ${config.workspace_max_size} bytes`, null);
  const { company_id } = workspace;
  if (project !== null && project.repo_url !== workspace.repo_url)
    tell('the folder is of another repository than the project: its variables and commands are not used');
  const { value: env, secrets } = await resolveSecrets(database.db, company_id, project?.env ?? {}, vault);
  const remote = await remoteOf(sources, facts);
  const place = folderOf(config, workspace);
  const lock = (await holdFolder(place, signal)) ?? (await takeOver(place, signal, tell));
  try {
    const state = await readState(place);
    const known = state?.workspace_id === workspace.id && state.version === workspace.version;
    const { repository, base } = await groundOf(sources, { facts, remote, place, known }, signal, tell);
    if (!known)
      await whileRoom(config, signal, async (room) =>
        makeTree(sources, { facts, place, repository, base }, room, tell),
      );
    else {
      if (repository !== null && base !== null) await pointToObjects(place, repository);
      if (workspace.place !== (await sources.place()))
        await noteWorkspacePlace(database.db, workspace.id, await sources.place());
    }
    const held = await HeldFolder.open(place.tree);
    const close = async () => {
      await held.close();
      await lock.release();
      if (known || repository === null || base === null) return;
      await keepBase(repository, workspace.id, base.commit);
      sources.spares.want(repository, base.commit);
    };
    const all_secrets = [...secrets, ...(remote?.secret == null ? [] : [remote.secret])];
    const setup_hash = known ? state.setup_hash : null;
    return { facts, place, repository, remote, base, held, env, secrets: all_secrets, setup_hash, close };
  } catch (err) {
    await lock.release();
    throw err;
  }
}

/** A new folder depends on the commit it started from, whether or not anything of it could be stored. */
async function keepBase(repository: string, workspace_id: string, commit: string): Promise<void> {
  const args = ['update-ref', `refs/service/${workspace_id}/begun`, commit];
  const signal = AbortSignal.timeout(KEEP_BASE_MS);
  await git({ cwd: repository, args, signal, timeout_ms: KEEP_BASE_MS }).catch(() => undefined);
}

interface Ground {
  facts: WorkspaceFacts;
  remote: Remote;
  place: WorkspaceFolder;
  known: boolean;
}

async function groundOf(
  { cache }: WorkspaceSources,
  { facts: { workspace }, remote, place, known }: Ground,
  signal: AbortSignal,
  tell: (message: string) => void,
): Promise<Pick<RunWorkspace, 'repository' | 'base'>> {
  if (remote === null) {
    const repository = findProgram('git') === undefined ? null : await ownHistory(place, signal);
    if (repository === null) tell('git is not installed: what changes in the folder is not followed');
    return { repository, base: null };
  }
  if (findProgram('git') === undefined)
    throw new GitError('git is not installed on the scheduler’s machine: install it there', null);
  const max_age_ms = known ? FETCHED_MS : FETCHED_FOR_NEW_MS;
  const { folder, problem } = await cache.fetched(remote, { max_age_ms, tolerant: true, signal });
  if (problem !== null) tell(`the repository could not be fetched, an older state is used: ${problem}`);
  return { repository: folder, base: await cache.baseOf(folder, workspace.base_branch, signal) };
}

/** Creates the tree as last stored, or a new one. An outdated tree is moved aside. */
async function makeTree(
  sources: WorkspaceSources,
  {
    facts,
    place,
    repository,
    base,
  }: Pick<Ground, 'facts' | 'place'> & Pick<RunWorkspace, 'repository' | 'base'>,
  signal: AbortSignal,
  tell: (message: string) => void,
): Promise<void> {
  const { workspace, issue } = facts;
  if ((await stat(place.tree).catch(() => null)) !== null) {
    const left = await setAside(place);
    tell(`the folder was out of date: it is kept aside for some days as ${left ?? 'nothing'}`);
  }
  if (repository === null && workspace.version > 0)
    throw new GitError('git is not installed, and the folder must be restored from what is stored', null);
  if (repository !== null && workspace.version > 0) await restoreObjects(sources, facts, repository, signal);
  if (base === null || repository === null)
    await checkOutFolder(
      place,
      repository === null ? null : { repository, work: workspace.work_commit },
      signal,
    );
  else {
    const head = workspace.head_commit ?? base.commit;
    const { branch, repo_url } = workspace;
    const checkout = {
      repository,
      base,
      head,
      work: workspace.work_commit ?? head,
      identifier: issue.identifier,
    };
    await checkOut(
      place,
      { ...checkout, branch: branch ?? issue.identifier, repo_url: repo_url ?? '' },
      signal,
    );
  }
  await writeState(place, { workspace_id: workspace.id, version: workspace.version, setup_hash: null });
  await noteWorkspacePlace(sources.database.db, workspace.id, await sources.place());
}
