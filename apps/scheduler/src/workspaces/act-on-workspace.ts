/** Actions that people request on a workspace. The scheduler performs them with the project's secret. */
import {
  claimPullRequestOf,
  claimWorkspaceAction,
  type ClaimedAction,
  finishWorkspaceAction,
  keepPullRequest,
  checkPullRequestSoon,
  notePullRequest,
  notePushed,
  pushNewCommits,
  releaseWorkspaceAction,
  renewWorkspaceAction,
  wasMergedSince,
} from '@acp/core';
import { transaction } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import { restoreObjects } from './bundles.ts';
import { GitError } from './git.ts';
import type { GitHost, MergeMethod } from './git-host.ts';
import { hostOf } from './host-of.ts';
import type { Repository, RepositoryCache } from './repository-cache.ts';
import { remoteOf } from './remote-of.ts';
import type { WorkspaceSources } from './sources.ts';

/** What git says of a branch that is not where a push expects it. */
const MOVED = '(stale info)';

/** Also succeeds if the action is already done or handled elsewhere. */
export async function actOnWorkspace(
  sources: WorkspaceSources,
  action_id: string,
  signal: AbortSignal,
): Promise<void> {
  const { database, config } = sources;
  const lease_sec = config.run_lease_sec;
  const claimed = await transaction(database, async (tx) => claimWorkspaceAction(tx, action_id, lease_sec));
  if (claimed === undefined) return;
  const lost = new AbortController();
  const renew = async (): Promise<void> => {
    if (!(await renewWorkspaceAction(database.db, claimed.action, lease_sec))) lost.abort();
  };
  // Without a database nobody else can claim it.
  const renewing = setInterval(() => void renew().catch(() => undefined), (lease_sec * 1000) / 3).unref();
  try {
    const error = await outcomeOf(sources, claimed, AbortSignal.any([signal, lost.signal]));
    await transaction(database, async (tx) => {
      await finishWorkspaceAction(tx, claimed.action, error);
      if (error === null) await pushNewCommits(tx, claimed);
    });
  } catch (err) {
    // Its process had stopped for a while: what it began, another one completes.
    if (!lost.signal.aborted) throw err;
  } finally {
    clearInterval(renewing);
  }
}

/** Null if it succeeded, else why not. Throws when it is aborted. */
async function outcomeOf(
  sources: WorkspaceSources,
  claimed: ClaimedAction,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    await act(sources, claimed, signal);
    return null;
  } catch (err) {
    if (signal.aborted)
      await transaction(sources.database, async (tx) => releaseWorkspaceAction(tx, claimed.action));
    signal.throwIfAborted();
    const isExplained =
      err instanceof GitError || (err instanceof ServiceError && err.kind !== 'unavailable');
    if (isExplained) return err.message;
    const { id: action_id } = claimed.action;
    sources.logger.error('an act on a workspace failed', { action_id, error: err });
    return 'internal error';
  }
}

async function act(sources: WorkspaceSources, claimed: ClaimedAction, signal: AbortSignal): Promise<void> {
  const remote = await remoteOf(sources, claimed);
  if (remote === null) throw new GitError('the workspace has no repository', null);
  if (claimed.action.kind === 'merge') return merge(sources, claimed, remote, signal);
  const base = await pushBranch(sources, { ...claimed, remote }, signal);
  if (claimed.action.kind === 'open_pull_request') await open(sources, claimed, { remote, base }, signal);
}

/**
 * Pushes the branch as last stored, from wherever it is stored. Does not overwrite what others have pushed to it since.
 * @returns the branch to merge it into. Throws GitError.
 */
async function pushBranch(
  sources: WorkspaceSources,
  { action, workspace, bundle, remote }: ClaimedAction & { remote: Repository },
  signal: AbortSignal,
): Promise<string> {
  const { cache, database } = sources;
  const { branch, head_commit, pushed_commit } = workspace;
  if (branch === null || head_commit === null) throw new GitError('nothing is committed yet', null);
  const { folder } = await cache.fetched(remote, { max_age_ms: 60_000, tolerant: true, signal });
  const base = await cache.baseOf(folder, workspace.base_branch, signal);
  if (branch === base.branch) throw new GitError('an issue’s branch must differ from the project’s', null);
  await restoreObjects(sources, { workspace, bundle }, folder, signal);
  const ref = `refs/heads/${branch}`;
  const push = async (expected: string) =>
    cache.alone(folder, signal, async () =>
      cache.remote(
        folder,
        remote,
        (url) => ['push', '--quiet', `--force-with-lease=${ref}:${expected}`, url, `${head_commit}:${ref}`],
        signal,
      ),
    );
  const known = await placeOf(cache, folder, { branch, head_commit }, signal);
  try {
    await push(known.is_ours && known.commit !== '' ? known.commit : (pushed_commit ?? ''));
  } catch (err) {
    if (!(err instanceof GitError && err.message.includes(MOVED))) throw err;
    // Since the last fetch it was moved, perhaps removed, as hosts do with a merged branch.
    await cache.fetched(remote, { max_age_ms: 0, tolerant: false, signal });
    const now = await placeOf(cache, folder, { branch, head_commit }, signal);
    if (!now.is_ours)
      throw new GitError(
        `others have pushed to ${branch}, and what is theirs is not overwritten: rename or remove their branch first`,
        null,
      );
    await push(now.commit);
  }
  await notePushed(database.db, action, head_commit);
  return base.branch;
}

/**
 * Where the branch was at the last fetch; empty: nowhere.
 * @returns `is_ours`: the new commit contains all of it, which is also the case after a push that could not be recorded
 */
async function placeOf(
  cache: RepositoryCache,
  folder: string,
  { branch, head_commit }: { branch: string; head_commit: string },
  signal: AbortSignal,
): Promise<{ commit: string; is_ours: boolean }> {
  const ask = async (...args: string[]) => cache.local(folder, args, signal).catch(() => null);
  const commit = await ask('rev-parse', '--verify', '--quiet', `refs/remotes/origin/${branch}^{commit}`);
  if (commit === null) return { commit: '', is_ours: true };
  return { commit, is_ours: (await ask('merge-base', '--is-ancestor', commit, head_commit)) !== null };
}

async function open(
  sources: WorkspaceSources,
  { action, workspace, issue }: ClaimedAction,
  { remote, base }: { remote: Repository; base: string },
  signal: AbortSignal,
): Promise<void> {
  const host = hostOf(sources.config, remote);
  const { title, body_markdown, draft } = action.input as {
    title?: string;
    body_markdown?: string;
    draft?: boolean;
  };
  const branch = workspace.branch ?? '';
  const wanted = {
    title: title ?? `${issue.identifier}: ${issue.title}`,
    body: body_markdown ?? '',
    draft: draft ?? false,
    branch,
    base,
  };
  const state = (await host.find(branch, signal)) ?? (await host.open(wanted, signal));
  await transaction(sources.database, async (tx) =>
    keepPullRequest(tx, { ...workspace, base_branch: base }, host.place, state),
  );
}

async function merge(
  sources: WorkspaceSources,
  { action, workspace }: ClaimedAction,
  remote: Repository,
  signal: AbortSignal,
): Promise<void> {
  const { database } = sources;
  const row = await claimPullRequestOf(database.db, workspace.id);
  if (row === undefined) {
    // Perhaps by a scheduler that was killed over it.
    if (await wasMergedSince(database.db, workspace.id, action.created_at)) return;
    throw new GitError('there is no open pull request', null);
  }
  const host: GitHost = hostOf(sources.config, remote);
  const seen = await host.look(row.number, signal);
  if (seen.state === 'open') {
    if (workspace.pushed_commit === null || workspace.head_commit !== workspace.pushed_commit)
      throw new GitError('the branch has changed since it was pushed: push it first', null);
    const method = (action.input as { method?: MergeMethod }).method ?? 'merge';
    await host.merge(row.number, workspace.pushed_commit, method, signal);
  }
  await checkPullRequestSoon(database.db, row);
  const fresh = await claimPullRequestOf(database.db, workspace.id);
  const after = await host.look(row.number, signal);
  // Undefined: someone else has recorded its end in the meantime.
  if (fresh !== undefined) await transaction(database, async (tx) => notePullRequest(tx, fresh, after));
  if (after.state !== 'merged') throw new GitError('the server has not merged it', null);
}
