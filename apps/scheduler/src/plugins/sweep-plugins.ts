import { existingMcpPrograms, existingPlugins } from '@acp/core';
import type { TimerContext } from '../context.ts';
import { sweepBinaries } from './binary.ts';
import { sweepControlGroups } from './control-group.ts';
import { sweepPluginContainers } from './sandbox.ts';
import { removeWorkspace, workspaceIds } from './workspace.ts';

/** Removes workspaces of plugins and MCP servers that are gone, and copies, groups and containers of owners that are. */
export async function sweepPlugins({ config, database, logger }: TimerContext): Promise<void> {
  const current = async (found: string[]): Promise<ReadonlyMap<string, number>> => {
    if (found.length === 0) return new Map();
    const programs = await existingMcpPrograms(database.db, found);
    return new Map([...(await existingPlugins(database.db, found)), ...programs]);
  };
  const ids = await workspaceIds(config);
  const known = await current(ids);
  for (const id of ids) if (!known.has(id)) await removeWorkspace(config, id);
  await sweepBinaries(current);
  await sweepControlGroups(config, current);
  const removed = await sweepPluginContainers(config, current);
  if (removed > 0) logger.warn('removed containers of plugins that no scheduler is running', { removed });
}
