import { basename } from 'node:path';
import { approvedBinary, assertAllowlisted, HASH_CHANGED, type PluginRow, revertApproval } from '@acp/core';
import { transaction } from '@acp/db';
import { conflict, findPluginWalls } from '@acp/kernel';
import { hashIfThere, placeBinary } from './binary.ts';
import { inControlGroup, sweepControlGroups } from './control-group.ts';
import type { RunnerParts } from './runner-parts.ts';
import { pluginVariables, sandboxed, type SandboxedCommand, sweepPluginContainers } from './sandbox.ts';
import { placeBody, makeWorkspace } from './workspace.ts';

/** Everything that a process needs before it starts. */
export interface PreparedStart {
  command: SandboxedCommand;
  /** Path on the host. */
  workspace: string;
  /** Writes bytes into the workspace. @returns their path as the plugin sees it */
  placeBody(bytes: Uint8Array): Promise<string>;
  /** Removes the copy that was run. */
  remove: () => Promise<void>;
}

/**
 * Checks the start rules again, for a start that no one has just requested, then prepares the sandbox and the approved
 * copy within it. A host without the file still runs the copy: that is what was approved.
 * @throws conflict for a plugin that may not run (any more), or if there is no sandbox
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
    // Remains of a scheduler that was killed on this machine.
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
