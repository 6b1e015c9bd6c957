import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';
import { lookAtBranch } from '../workspaces/watch-pull-requests.ts';

/** Calls the host, with the project's secret. */
export function lookAtPullRequestJob({
  workspaces,
}: Pick<SchedulerContext, 'workspaces'>): JobHandler<'look-at-pull-request'> {
  return async ({ workspace_id }, { signal }) => lookAtBranch(workspaces, workspace_id, signal);
}
