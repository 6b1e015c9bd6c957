/**
 * What an extraction's process can reach: its own code and libraries among the files, and no network. With bubblewrap the
 * kernel enforces this. Node's own permissions apply in any case, but don't cover the network, and are enforced by the
 * process itself.
 */
import { visibleFiles } from '@acp/adapters';
import { bubblewrapProc, bubblewrapWalls, findBubblewrap, repositoryRoot } from '@acp/kernel';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const scheduler = join(repositoryRoot, 'apps/scheduler');
const folder = join(scheduler, 'src/extraction');
/** Node looks for the nearest package.json. */
const readable = [
  folder,
  join(scheduler, 'package.json'),
  join(scheduler, 'node_modules'),
  join(repositoryRoot, 'node_modules'),
].filter((path) => existsSync(path));

/**
 * @param script a file of this folder
 * @param hidden folders with state of the service
 */
export async function walledCommand(
  script: string,
  args: readonly string[],
  memory_mb: number,
  hidden: readonly string[],
): Promise<string[]> {
  const node = [
    process.execPath,
    `--max-old-space-size=${memory_mb}`,
    '--permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    '--allow-worker',
    '--no-warnings',
    join(folder, script),
    ...args,
  ];
  const found = await findBubblewrap();
  if ('reason' in found) return node;
  const { mounts, command } = visibleFiles(node, undefined, {
    readable: [],
    hidden: [repositoryRoot, ...hidden],
  });
  return [
    found.file,
    ...bubblewrapWalls,
    ...bubblewrapProc(),
    '--dev',
    '/dev',
    ...mounts,
    '--remount-ro',
    '/',
    '--chdir',
    '/',
    '--',
    ...command,
  ];
}
