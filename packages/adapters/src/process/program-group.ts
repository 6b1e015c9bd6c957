import { type Config, type Controller, findControlGroups, joining, makeControlGroup } from '@acp/kernel';
import type { ProgramLimits } from '../task.ts';
import { memoryBytes } from './tree-usage.ts';

/** Number of processes that a sandbox itself needs. */
const OF_THE_WALLS = 3;

/** A control group of its own for a program. */
interface ProgramGroup {
  /** What it limits. */
  bounds: readonly Controller[];
  /** The command that joins it first. */
  joining(command: readonly string[]): string[];
  /** Why the kernel killed something in it, if it did. */
  whyEnded(): Promise<string | undefined>;
  /** Kills everything in it, then removes it. */
  remove(): Promise<void>;
}

/**
 * Undefined where the kernel permits none. It counts what belongs to no process, too, such as files in memory and shared memory. Groups
 * of schedulers that were killed are removed by a sweep once they are empty.
 * @param name unique to its owner
 */
export async function makeProgramGroup(
  name: string,
  config: Pick<Config, 'plugin_control_groups'>,
  { memory, cpus, pids }: ProgramLimits,
): Promise<ProgramGroup | undefined> {
  const groups = await findControlGroups(config);
  if (Object.keys(groups).length === 0) return undefined;
  const limits = { memory_bytes: memoryBytes(memory), processes: pids + OF_THE_WALLS, cpu: cpus };
  const group = await makeControlGroup(groups, name, limits).catch(() => undefined);
  return (
    group && {
      bounds: group.bounds,
      joining: (command) => joining(group, command),
      whyEnded: async () =>
        (await group.ranOutOfMemory()) ? `it takes more memory than ${memory}` : undefined,
      remove: async () => group.remove(),
    }
  );
}
