import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeRunFolder } from '../process/run-folder.ts';

/**
 * Has the engine read values that are the agent's own and may be secrets: they never stand among arguments. The file is
 * there for that long and no longer.
 */
export async function withEnvironmentFile<T>(
  run_id: string,
  env: Record<string, string>,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const folder = await makeRunFolder(run_id);
  try {
    const path = join(folder, 'env');
    const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(path, lines.join(''), { mode: 0o600 });
    return await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
