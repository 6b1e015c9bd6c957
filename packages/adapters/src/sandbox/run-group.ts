import { type Config, findControlGroups, joining, makeControlGroup } from '@acp/kernel';
import { memoryBytes } from '../process/tree-usage.ts';
import type { ProgramLimits } from '../task.ts';

/** Number of processes that the sandbox itself needs. */
const OF_THE_WALLS = 3;

/** A control group for one run. */
interface RunGroup {
  /** The command that joins it first. */
  joining(command: readonly string[]): string[];
  /** Why the kernel killed something in it, if it did. */
  whyEnded(): Promise<string | undefined>;
  remove(): Promise<void>;
}

/**
 * The run's own control group, where the kernel permits one: it counts what belongs to no process, too, such as files in memory and
 * shared memory. Groups of schedulers that were killed are empty once their processes are killed, and removed with those of plugins.
 */
export async function makeRunGroup(
  run_id: string,
  setting: Config['plugin_control_groups'],
  { memory, cpus, pids }: ProgramLimits,
): Promise<RunGroup | undefined> {
  const groups = await findControlGroups({ plugin_control_groups: setting });
  if (Object.keys(groups).length === 0) return undefined;
  const limits = { memory_bytes: memoryBytes(memory), processes: pids + OF_THE_WALLS, cpu: cpus };
  const group = await makeControlGroup(groups, `run-${run_id}`, limits).catch(() => undefined);
  return (
    group && {
      joining: (command) => joining(group, command),
      whyEnded: async () =>
        (await group.ranOutOfMemory()) ? `it takes more memory than ${memory}` : undefined,
      remove: async () => group.remove(),
    }
  );
}
