import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeRunFolder } from '../process/run-folder.ts';

/**
 * Passes the agent's own values, which may be secrets, to the engine: they never appear among arguments. The file exists only
 * while `use` runs.
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
