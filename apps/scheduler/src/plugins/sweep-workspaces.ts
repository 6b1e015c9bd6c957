import { existingPlugins } from '@acp/core';
import type { TimerContext } from '../context.ts';
import { removeWorkspace, workspaceIds } from './workspace.ts';

/** Removes the folders of plugins that are gone. */
export async function sweepWorkspaces({ config, database }: TimerContext): Promise<void> {
  const ids = await workspaceIds(config);
  if (ids.length === 0) return;
  const known = new Set(await existingPlugins(database.db, ids));
  for (const id of ids) if (!known.has(id)) await removeWorkspace(config, id);
}
