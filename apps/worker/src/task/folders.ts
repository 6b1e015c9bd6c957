/** Task folders: each task has a home that is removed with it. Nothing of one task is left for the next. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { killMarked, labelledContainers, removeRunContainers, sweepRunFolders } from '@acp/adapters';
import { engineEnvironment, isUuid, type Config, type Logger } from '@acp/kernel';

const run = promisify(execFile);
const TEMP = '.service-tmp';

export interface TaskFolders {
  home: string;
  cwd: string;
  remove(): Promise<void>;
}

/** @param root parent of all task folders */
export async function makeTaskFolders(root: string, run_id: string): Promise<TaskFolders> {
  const home = join(root, run_id);
  const cwd = join(home, 'work');
  await rm(home, { recursive: true, force: true });
  await mkdir(cwd, { recursive: true, mode: 0o700 });
  await mkdir(join(home, TEMP), { mode: 0o700 });
  return { home, cwd, remove: async () => removeTree(home) };
}

/** Removes links, not their targets. Never rejects: the next start tries again. */
async function removeTree(folder: string): Promise<void> {
  const tried = await rm(folder, { recursive: true, force: true }).then(
    () => true,
    () => false,
  );
  if (tried) return;
  // A program may have removed permissions on its own folders; `chmod -R` follows no links on its way.
  await run('chmod', ['-R', 'u+rwX', folder]).catch(() => undefined);
  await rm(folder, { recursive: true, force: true }).catch(() => undefined);
}

/** Removes what an earlier, killed process left behind: programs, containers, folders. */
export async function sweepTaskFolders(
  root: string,
  config: Pick<Config, 'container_cli'>,
  logger: Logger,
): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  const run_ids = (await readdir(root)).filter((name) => isUuid(name));
  if (run_ids.length === 0) return;
  logger.warn('cleaning up tasks of a worker that was killed', { run_ids });
  const engine = { cli: config.container_cli, cli_env: engineEnvironment() };
  const containers = new Set(await labelledContainers(engine));
  for (const run_id of run_ids) {
    await killMarked(run_id);
    if (containers.has(run_id)) await removeRunContainers(engine, run_id);
    await removeTree(join(root, run_id));
  }
  await sweepRunFolders(async (ids) => Promise.resolve(ids.filter((id) => run_ids.includes(id))));
}
