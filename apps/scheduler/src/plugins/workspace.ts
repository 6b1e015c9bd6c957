import { constants } from 'node:fs';
import { access, lstat, mkdir, opendir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '@acp/kernel';
import {
  conflict,
  dropTree,
  isUuid,
  newId,
  removeInside,
  UnsafePlace,
  withFolder,
  writeInside,
} from '@acp/kernel';

const SHARED = '/var/lib/service/plugins';
const BODIES = '.service-bodies';
/** How long a body that was too long for a line is kept. */
const BODY_KEPT_MS = 3600 * 1000;
const MOST_BODIES = 50;
/** Read at a time, in which a plugin may have put millions. */
const MOST_BODY_NAMES = 1000;
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
  for (const name of [plugin_id, ownerOf(plugin_id)]) await dropTree(root, name);
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
  const names = await withFolder(workspace, BODIES, async (folder) => bodiesIn(folder)).catch(
    (err: unknown) => {
      // Not there yet, or the plugin has put something else in its place, which is replaced.
      if (err instanceof UnsafePlace) return [];
      throw err;
    },
  );
  if (names === null) return dropTree(workspace, BODIES);
  for (const name of names) await removeInside(workspace, `${BODIES}/${name}`);
}

/** Names of those to be removed; null: more than anyone but the plugin has put there. */
async function bodiesIn(folder: string): Promise<string[] | null> {
  const found: { name: string; at: number }[] = [];
  for await (const { name } of await opendir(folder)) {
    if (found.length === MOST_BODY_NAMES) return null;
    found.push({ name, at: (await lstat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0 });
  }
  return found
    .toSorted((a, b) => b.at - a.at)
    .filter(({ at }, place) => place >= MOST_BODIES - 1 || Date.now() - at > BODY_KEPT_MS)
    .map(({ name }) => name);
}

/**
 * Bytes on disk, without holes; Infinity if over the limit, with too many files to count, or with a folder that can't be
 * looked into: one that lies too deep, or that the plugin has made unreadable.
 */
export async function workspaceBytes(workspace: string, limit: number, signal: AbortSignal): Promise<number> {
  let total = 0;
  let looks = MOST_ENTRIES;
  // Names need not be text.
  const folders = [Buffer.from(workspace)];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await opendir(folder, { encoding: 'latin1' }).catch(gone);
    if (entries === undefined) continue;
    if (entries === null) return Infinity;
    for await (const { name } of entries) {
      if (signal.aborted) return 0;
      if ((looks -= 1) < 0) return Infinity;
      const path = Buffer.concat([folder, Buffer.from(`/${name}`, 'latin1')]);
      const found = await lstat(path).catch(gone);
      if (found === null) return Infinity;
      total += (found?.blocks ?? 0) * 512;
      if (total > limit) return Infinity;
      if (found?.isDirectory()) folders.push(path);
    }
  }
  return total;
}

/** Undefined for what has been removed meanwhile, or is no folder any more; null for any other error. */
const gone = ({ code }: NodeJS.ErrnoException): undefined | null =>
  code === 'ENOENT' || code === 'ENOTDIR' ? undefined : null;
