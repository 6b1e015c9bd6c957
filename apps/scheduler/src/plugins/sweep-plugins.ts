import { existingMcpPrograms, existingPlugins } from '@acp/core';
import type { TimerContext } from '../context.ts';
import { sweepBinaries } from './binary.ts';
import { sweepControlGroups } from './control-group.ts';
import { sweepPluginContainers } from './sandbox.ts';
import { removeWorkspace, workspaceIds } from './workspace.ts';

/**
 * Removes what plugins and MCP servers that are gone left on this machine, and the copies, groups and containers of owners that
 * are. What is unknown to the database may be another instance's: that a program was ours, its workspace says, which goes last.
 */
export async function sweepPlugins({ config, database, logger }: TimerContext): Promise<void> {
  const existing = async (found: string[]): Promise<ReadonlyMap<string, number>> => {
    if (found.length === 0) return new Map();
    const programs = await existingMcpPrograms(database.db, found);
    return new Map([...(await existingPlugins(database.db, found)), ...programs]);
  };
  const ids = await workspaceIds(config);
  const known = await existing(ids);
  const gone = ids.filter((id) => !known.has(id));
  const current = async (found: string[]): Promise<ReadonlyMap<string, number>> =>
    new Map([...(await existing(found)), ...gone.map((id) => [id, Infinity] as const)]);
  await sweepBinaries(current);
  await sweepControlGroups(config, current);
  const removed = await sweepPluginContainers(config, current);
  if (removed > 0) logger.warn('removed containers of plugins that no scheduler is running', { removed });
  for (const id of gone) await removeWorkspace(config, id);
}
