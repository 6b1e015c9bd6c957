import { existingPlugins } from '@acp/core';
import type { TimerContext } from '../context.ts';
import { sweepBinaries } from './binary.ts';
import { sweepPluginContainers } from './sandbox.ts';
import { removeWorkspace, workspaceIds } from './workspace.ts';

/** Removes the workspaces of plugins that are gone, and the copies and containers of holders that are. */
export async function sweepPlugins({ config, database, logger }: TimerContext): Promise<void> {
  const ids = await workspaceIds(config);
  if (ids.length > 0) {
    const known = await existingPlugins(database.db, ids);
    for (const id of ids) if (!known.has(id)) await removeWorkspace(config, id);
  }
  const current = async (found: string[]) => existingPlugins(database.db, found);
  await sweepBinaries(current);
  const removed = await sweepPluginContainers(config, current);
  if (removed > 0) logger.warn('containers of plugins that no scheduler holds were removed', { removed });
}
