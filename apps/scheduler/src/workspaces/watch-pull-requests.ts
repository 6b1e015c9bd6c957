/** Polls open pull requests and applies their state to their work products. */
import {
  claimDuePullRequests,
  claimPullRequestOf,
  keepPullRequest,
  notePullRequest,
  notePullRequestFailure,
  pullRequestSecret,
  type PullRequestRow,
} from '@acp/core';
import { transaction } from '@acp/db';
import { hasPullRequests, hostOf } from './host-of.ts';
import { remoteOf } from './remote-of.ts';
import type { WorkspaceSources } from './sources.ts';

const BATCH = 20;
const AT_ONCE = 4;

export async function watchPullRequests(sources: WorkspaceSources, signal: AbortSignal): Promise<void> {
  const due = await claimDuePullRequests(sources.database.db, BATCH);
  const next = async (): Promise<void> => {
    for (let row = due.pop(); row !== undefined && !signal.aborted; row = due.pop())
      await lookAt(sources, row, signal);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}

/**
 * Called when the host reports an event: checks the open pull request or, if none is known, finds one that someone has
 * opened there for a branch of ours. Throws if that fails: the job is retried.
 */
export async function lookAtBranch(
  sources: WorkspaceSources,
  workspace_id: string,
  signal: AbortSignal,
): Promise<void> {
  const { config, database } = sources;
  const row = await claimPullRequestOf(database.db, workspace_id);
  if (row !== undefined) return lookAt(sources, row, signal);
  const found = await pullRequestSecret(database.db, { workspace_id });
  const remote = found && (await remoteOf(sources, { workspace: found.workspace, project: found }));
  if (!found?.workspace.branch || !remote || !hasPullRequests(config, remote)) return;
  const host = hostOf(config, remote);
  const state = await host.find(found.workspace.branch, signal);
  if (state === undefined) return;
  await transaction(database, async (tx) => keepPullRequest(tx, found.workspace, host.place, state));
}

async function lookAt(sources: WorkspaceSources, row: PullRequestRow, signal: AbortSignal): Promise<void> {
  const { config, database, logger } = sources;
  try {
    const found = await pullRequestSecret(database.db, row);
    const remote = found && (await remoteOf(sources, { workspace: found.workspace, project: found }));
    if (remote === undefined || remote === null) throw new Error('its repository no longer exists');
    const seen = await hostOf(config, remote).look(row.number, signal);
    await transaction(database, async (tx) => notePullRequest(tx, row, seen));
  } catch (err) {
    if (signal.aborted) return;
    logger.warn('a pull request could not be checked', {
      work_product_id: row.work_product_id,
      error: err,
    });
    await notePullRequestFailure(database.db, row);
  }
}
