import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';
import { actOnWorkspace } from '../workspaces/act-on-workspace.ts';

/** Runs git and calls its server, with the project's secret. */
export function actOnWorkspaceJob({
  workspaces,
}: Pick<SchedulerContext, 'workspaces'>): JobHandler<'act-on-workspace'> {
  return async ({ action_id }, { signal }) => actOnWorkspace(workspaces, action_id, signal);
}
