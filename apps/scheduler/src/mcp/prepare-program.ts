import type { McpProgramHold } from '@acp/core';
import {
  type Config,
  conflict,
  findPluginWalls,
  findProgram,
  type McpCommand,
  type PluginWalls,
  said,
} from '@acp/kernel';
import { inControlGroup, sweepControlGroups } from '../plugins/control-group.ts';
import { sandboxed, type SandboxedCommand, sweepPluginContainers } from '../plugins/sandbox.ts';
import { makeWorkspace } from '../plugins/workspace.ts';

/**
 * Command of a program offered by the operator, in the sandbox of plugins and with a folder of its own.
 * @throws conflict if it is not offered (any more) or can't be sandboxed
 */
export async function prepareProgram(
  config: Config,
  name: string,
  env: Record<string, string>,
  { server_id, fence }: McpProgramHold,
): Promise<{ command: SandboxedCommand; workspace: string }> {
  const offer = config.mcp_commands.get(name);
  if (offer === undefined) throw conflict(said`the operator does not offer the program ${name}`);
  const foreign = Object.keys(env).find((variable) => !offer.env.includes(variable));
  if (foreign !== undefined)
    throw conflict(said`the operator does not allow ${foreign} to be set for ${name}`);
  const walls = await wallsOf(config, offer);
  // The error omits its path, which is for the operator only.
  if (walls.kind !== 'container' && findProgram(offer.command[0] ?? '') === undefined)
    throw conflict(said`the program ${name} is not installed where schedulers run`);
  const workspace = await makeWorkspace(config, server_id);
  // Remains of a scheduler that was killed on this machine.
  const current = async () => Promise.resolve(new Map([[server_id, fence]]));
  if (walls.kind === 'container') await sweepPluginContainers(config, current);
  else await sweepControlGroups(config, current);
  const place = {
    id: server_id,
    fence,
    workspace,
    command: offer.command,
    readable: offer.readable,
    image: offer.image,
    variables: () => env,
  };
  return { command: await inControlGroup(config, sandboxed(config, walls, place), place), workspace };
}

/**
 * A program with an image runs in a container, any other in bubblewrap. It runs without a sandbox only if the operator has
 * turned sandboxing off: text written by a company's agents controls what it does.
 */
async function wallsOf(config: Config, { image }: McpCommand): Promise<PluginWalls> {
  const wanted = config.plugin_sandbox;
  if (wanted === 'container' && image === null)
    throw conflict('it has no container image, and SERVICE_PLUGIN_SANDBOX admits containers only');
  const inside = image === null && wanted !== 'disabled' ? 'bubblewrap' : wanted;
  const plugin_sandbox = inside === 'auto' ? 'required' : inside;
  const walls = await findPluginWalls({ ...config, plugin_sandbox });
  if (walls.kind === 'bubblewrap' && image !== null)
    throw conflict('its container image needs a container engine, and none answers');
  return walls;
}
