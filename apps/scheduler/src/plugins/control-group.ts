import { makeProgramGroup } from '@acp/adapters';
import {
  findControlGroups,
  isUuid,
  listControlGroups,
  programBounds,
  removeControlGroup,
  removeEmptyControlGroups,
} from '@acp/kernel';
import type { ProgramPlace, SandboxConfig, SandboxedCommand } from './sandbox.ts';

/** One group per lease owner, as with containers. */
const groupOf = ({ id, fence }: Pick<ProgramPlace, 'id' | 'fence'>): string => `${id}-${fence}`;

/**
 * Puts the command into a control group of its own if the kernel permits; otherwise it is unchanged and gets watched. The
 * command's `bounds` say what enforces its limits.
 */
export async function inControlGroup(
  config: SandboxConfig,
  command: SandboxedCommand,
  place: Pick<ProgramPlace, 'id' | 'fence'>,
): Promise<SandboxedCommand> {
  // A container engine creates its own group.
  if (command.kind === 'container') return command;
  const limits = {
    memory: config.plugin_memory_limit,
    cpus: config.plugin_cpu_limit,
    pids: config.plugin_pids_limit,
  };
  const group = await makeProgramGroup(groupOf(place), config, limits);
  if (group === undefined) return command;
  return {
    ...command,
    command: group.joining(command.command),
    bounds: programBounds(config, command.kind, group.bounds),
    grouped: group.bounds,
    whyEnded: async () => group.whyEnded(),
    cleanUp: async () => {
      await command.cleanUp();
      await group.remove();
    },
  };
}

/**
 * Removes the groups of owners that are gone, with every process still in them. Groups of plugins unknown to the database
 * belong to another instance, as long as they contain processes.
 * @param current the fence of each of these programs that exists
 */
export async function sweepControlGroups(
  config: SandboxConfig,
  current: (ids: string[]) => Promise<ReadonlyMap<string, number>>,
): Promise<void> {
  const groups = await findControlGroups(config);
  await removeEmptyControlGroups(groups);
  const found = (await listControlGroups(groups)).map((name) => ({
    name,
    id: name.slice(0, name.lastIndexOf('-')),
    fence: Number(name.slice(name.lastIndexOf('-') + 1)),
  }));
  const fences = await current(found.map(({ id }) => id).filter(isUuid));
  const left = found.filter(({ id, fence }) => (fences.get(id) ?? fence) > fence);
  await Promise.all(left.map(async ({ name }) => removeControlGroup(groups, name)));
}
