import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'service-env-';
const UUID_LENGTH = 36;
/** No engine takes longer to make a container. */
const OLD_MS = 24 * 3600 * 1000;

/**
 * Has the engine read values that are the agent's own and may be secrets: they never stand among arguments. The file is
 * there for that long and no longer; what a crash leaves `sweepEnvironmentFiles` finds by the run's id.
 */
export async function withEnvironmentFile<T>(
  run_id: string,
  env: Record<string, string>,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), `${PREFIX}${run_id}-`));
  try {
    const path = join(folder, 'env');
    const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(path, lines.join(''), { mode: 0o600 });
    return await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Removes the files of runs that have ended, and old ones of whomever.
 * @param ended which of these runs have
 * @returns how many were there
 */
export async function sweepEnvironmentFiles(
  ended: (run_ids: string[]) => Promise<readonly string[]>,
): Promise<number> {
  const names = (await readdir(tmpdir()).catch(() => [])).filter((name) => name.startsWith(PREFIX));
  if (names.length === 0) return 0;
  const runOf = (name: string) => name.slice(PREFIX.length, PREFIX.length + UUID_LENGTH);
  const over = new Set(await ended([...new Set(names.map(runOf))]));
  let removed = 0;
  for (const name of names) {
    const folder = join(tmpdir(), name);
    if (!over.has(runOf(name)) && !(await isOld(folder))) continue;
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    removed += 1;
  }
  return removed;
}

async function isOld(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > OLD_MS;
}
