import { basename } from 'node:path';
import { approvedBinary, assertAllowlisted, HASH_CHANGED, type PluginRow, revertApproval } from '@acp/core';
import { transaction } from '@acp/db';
import { conflict, findPluginWalls } from '@acp/kernel';
import { hashIfThere, placeBinary } from './binary.ts';
import { inControlGroup, sweepControlGroups } from './control-group.ts';
import type { RunnerParts } from './runner-parts.ts';
import { pluginVariables, sandboxed, type SandboxedCommand, sweepPluginContainers } from './sandbox.ts';
import { placeBody, makeWorkspace } from './workspace.ts';

/** All that a process needs before it is there. */
export interface PreparedStart {
  command: SandboxedCommand;
  /** As the host sees it. */
  workspace: string;
  /** Lays bytes into the workspace. @returns their path as the plugin sees it */
  placeBody(bytes: Uint8Array): Promise<string>;
  /** Of the copy that was run. */
  remove: () => Promise<void>;
}

/**
 * The start rules once more, for a start that nobody asked for just now, then the walls and the allowed copy within them.
 * A host without the file runs the copy all the same: it is what was allowed.
 * @throws conflict for a plugin that may not run (any more), and for walls that can't be had
 */
export async function prepareStart(
  plugin: PluginRow,
  { config, database, storage }: Pick<RunnerParts, 'config' | 'database' | 'storage'>,
): Promise<PreparedStart> {
  const { id: plugin_id, company_id, fence, binary_path, approved_binary_hash } = plugin;
  const actual = await hashIfThere(binary_path);
  if (actual !== undefined && actual !== approved_binary_hash) {
    await transaction(database, async (tx) => revertApproval(tx, plugin_id, actual));
    throw conflict(HASH_CHANGED);
  }
  assertAllowlisted(binary_path ?? '', config.plugin_binary_allowlist);
  const approved = await approvedBinary(database.db, plugin_id);
  if (approved === undefined) throw conflict('plugin is not allowed');
  const walls = await findPluginWalls(config);
  const workspace = await makeWorkspace(config, plugin_id);
  const { file: binary, remove } = await placeBinary(storage, approved, {
    plugin_id,
    fence,
    name: basename(binary_path ?? 'plugin'),
  });
  try {
    const variables = pluginVariables(plugin_id, company_id);
    const place = { id: plugin_id, fence, workspace, command: [binary], binary, variables };
    // What a scheduler left that was killed here.
    const current = async () => Promise.resolve(new Map([[plugin_id, fence]]));
    if (walls.kind === 'container') await sweepPluginContainers(config, current);
    else await sweepControlGroups(config, current);
    const command = await inControlGroup(config, sandboxed(config, walls, place), place);
    const lay = async (bytes: Uint8Array) => `${command.workspace}/${await placeBody(workspace, bytes)}`;
    return { command, workspace, placeBody: lay, remove };
  } catch (err) {
    await remove();
    throw err;
  }
}
