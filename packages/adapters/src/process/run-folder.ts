import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'service-run-';
const UUID_LENGTH = 36;
/** No run takes longer, in any process. */
const OLD_MS = 48 * 3600 * 1000;

/** Creates a private folder for what a run needs outside its agent's home. The caller removes it. */
export async function makeRunFolder(run_id: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `${PREFIX}${run_id}-`));
}

/**
 * Removes folders left by a crash: those of finished runs, and all old ones.
 * @param ended returns which of these runs have finished
 * @returns the number of folders found
 */
export async function sweepRunFolders(
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
