import { memoryBytes } from '@acp/adapters';
import {
  findControlGroups,
  isUuid,
  joining,
  listControlGroups,
  makeControlGroup,
  programBounds,
  removeControlGroup,
  removeEmptyControlGroups,
} from '@acp/kernel';
import type { ProgramPlace, SandboxConfig, SandboxedCommand } from './sandbox.ts';

/** The walls have processes of their own. */
const OF_THE_WALLS = 3;

/** Of one holder, as containers are. */
const groupOf = ({ id, fence }: Pick<ProgramPlace, 'id' | 'fence'>): string => `${id}-${fence}`;

/**
 * The command in a control group of its own, where the kernel lets this process make one; else as it was, and watched. What
 * the command says of its bounds is what holds.
 */
export async function inControlGroup(
  config: SandboxConfig,
  command: SandboxedCommand,
  place: Pick<ProgramPlace, 'id' | 'fence'>,
): Promise<SandboxedCommand> {
  // An engine makes its own.
  if (command.kind === 'container') return command;
  const groups = await findControlGroups(config);
  if (Object.keys(groups).length === 0) return command;
  const memory = config.plugin_memory_limit;
  const limits = {
    memory_bytes: memoryBytes(memory),
    processes: config.plugin_pids_limit + OF_THE_WALLS,
    cpu: config.plugin_cpu_limit,
  };
  const group = await makeControlGroup(groups, groupOf(place), limits).catch(() => undefined);
  if (group === undefined) return command;
  return {
    ...command,
    command: joining(group, command.command),
    bounds: programBounds(config, command.kind, group.bounds),
    grouped: group.bounds,
    whyEnded: async () =>
      (await group.ranOutOfMemory()) ? `it takes more memory than ${memory}` : undefined,
    cleanUp: async () => {
      await command.cleanUp();
      await group.remove();
    },
  };
}

/**
 * Removes groups of holders that are gone, with all that still runs in them. Those of plugins that the database does not know
 * are another instance's, as long as there is something in them.
 * @param current the fence of each of these programs that is there
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
