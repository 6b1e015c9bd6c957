import { constants } from 'node:fs';
import { access, lstat, mkdir, opendir, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '@acp/kernel';
import { conflict, isUuid, newId, removeInside, writeInside } from '@acp/kernel';

const SHARED = '/var/lib/service/plugins';
const BODIES = '.service-bodies';
/** How long a body that was too long for a line is kept. */
const BODY_KEPT_MS = 3600 * 1000;
const MOST_BODIES = 50;
const MOST_ENTRIES = 200_000;

type Roots = Pick<Config, 'home' | 'plugin_workspace_root'>;

async function rootOf({ home, plugin_workspace_root }: Roots): Promise<string> {
  if (plugin_workspace_root !== null) return plugin_workspace_root;
  const usable = await access(SHARED, constants.W_OK).then(
    () => true,
    () => false,
  );
  return usable ? SHARED : join(home, 'plugins');
}

/** Creates the plugin's own folder, without links on the path to it. */
export async function makeWorkspace(config: Roots, plugin_id: string): Promise<string> {
  const root = await rootOf(config);
  await mkdir(root, { recursive: true, mode: 0o700 });
  const folder = join(await realpath(root), plugin_id);
  await mkdir(folder, { mode: 0o700 }).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'EEXIST') throw err;
  });
  const found = await lstat(folder);
  if (!found.isDirectory()) throw conflict('the workspace of the plugin is not a folder');
  await writeFile(join(root, ownerOf(plugin_id)), config.home, { mode: 0o600 });
  return folder;
}

/** Removes the folder of a plugin that is gone. */
export async function removeWorkspace(config: Roots, plugin_id: string): Promise<void> {
  const root = await rootOf(config);
  for (const name of [plugin_id, ownerOf(plugin_id)])
    await rm(join(root, name), { recursive: true, force: true });
}

/** Ids of plugins whose folder this instance created: other instances may share the root. */
export async function workspaceIds(config: Roots): Promise<string[]> {
  const root = await rootOf(config);
  const ids = (await readdir(root).catch(() => [])).filter(isUuid);
  const own = await Promise.all(
    ids.map(async (id) => readFile(join(root, ownerOf(id)), 'utf8').catch(() => null)),
  );
  return ids.filter((_, index) => own[index] === config.home);
}

/** Name of a file next to the folder, where the plugin can't write: it contains the home of the instance that created it. */
const ownerOf = (plugin_id: string): string => `.${plugin_id}`;

/**
 * Writes a body that is too long for a line into the workspace. Earlier ones are removed after an hour, or if there are too
 * many.
 * @returns its path below the workspace
 */
export async function placeBody(workspace: string, body: Uint8Array): Promise<string> {
  await clearBodies(workspace);
  const path = `${BODIES}/${newId()}`;
  await writeInside(workspace, path, once(body));
  return path;
}

async function* once(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(body);
}

/** Also removes files that the plugin put there: nothing in the folder is trusted except the names. */
async function clearBodies(workspace: string): Promise<void> {
  const folder = join(workspace, BODIES);
  if (!(await lstat(folder).catch(() => null))?.isDirectory()) return;
  const names = await readdir(folder);
  const ages = await Promise.all(
    names.map(async (name) => ({
      name,
      at: (await lstat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0,
    })),
  );
  const sorted = ages.toSorted((a, b) => b.at - a.at);
  for (const [place, { name, at }] of sorted.entries())
    if (place >= MOST_BODIES - 1 || Date.now() - at > BODY_KEPT_MS)
      await removeInside(workspace, `${BODIES}/${name}`);
}

/** Bytes on disk, without holes; Infinity if over the limit, or with too many files to count. */
export async function workspaceBytes(workspace: string, limit: number, signal: AbortSignal): Promise<number> {
  let total = 0;
  let looks = MOST_ENTRIES;
  const folders = [workspace];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await opendir(folder).catch(() => null);
    if (entries === null) continue;
    for await (const entry of entries) {
      if (signal.aborted) return 0;
      if ((looks -= 1) < 0) return Infinity;
      const path = join(folder, entry.name);
      const found = await lstat(path).catch(() => null);
      total += (found?.blocks ?? 0) * 512;
      if (total > limit) return Infinity;
      if (found?.isDirectory()) folders.push(path);
    }
  }
  return total;
}
