/**
 * Files in a folder that someone else writes to as well: at any moment an agent may put a link, a pipe, or a file where a
 * folder is expected. Links are never followed: a folder is opened first, its real location is checked, and everything
 * then happens inside the open folder, wherever its name leads by that time.
 */
import { constants } from 'node:fs';
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  opendir,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  unlink,
} from 'node:fs/promises';
import { join, posix } from 'node:path';
import { newId } from './ids.ts';
import { removeTree } from './remove-tree.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const MAX_DEPTH = 10;
/** Number of names examined per file that may be returned. */
const LOOKS = 20;

/** The path leads out of the folder. */
export class UnsafePlace extends Error {}

/**
 * Replaces a file atomically.
 * @param path relative, made of ordinary names
 * @param half name of the file until it is complete; an existing file of that name was left by a process that died
 * @throws UnsafePlace
 */
export async function writeInside(
  root: string,
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  mode = 0o600,
  half = `.${newId()}`,
): Promise<void> {
  await ensureFolders(root, posix.dirname(path));
  await withFolder(root, posix.dirname(path), async (folder) => {
    const name = posix.basename(path);
    const temporary = join(folder, half);
    await rm(temporary, { force: true });
    const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    try {
      await file.writeFile(bytes);
      await file.close();
      const found = await lstat(join(folder, name)).catch(() => null);
      if (found?.isDirectory()) await removeTree(folder, name);
      await rename(temporary, join(folder, name));
    } catch (err) {
      await file.close().catch(() => undefined);
      await unlink(temporary).catch(() => undefined);
      throw err;
    }
  });
}

/** Removes a file, or the link in its place; never a link's target. Does nothing if nothing is there. */
export async function removeInside(root: string, path: string): Promise<void> {
  await withFolder(root, posix.dirname(path), async (folder) => {
    await unlink(join(folder, posix.basename(path))).catch(() => undefined);
  });
}

/** Removes an empty folder. Never rejects. */
export async function dropIfEmpty(root: string, path: string): Promise<void> {
  await withFolder(root, posix.dirname(path), async (folder) =>
    rmdir(join(folder, posix.basename(path))),
  ).catch(() => undefined);
}

/**
 * Removes a folder with everything in it, however deep; links are removed, not their targets. Never rejects: whatever could not
 * be removed is found again by the next clean-up.
 */
export async function dropTree(root: string, path: string): Promise<void> {
  await withFolder(root, posix.dirname(path), async (folder) =>
    removeTree(folder, posix.basename(path)),
  ).catch(() => undefined);
}

/** Null if it does not exist or is not a regular file. The caller closes the handle. Throws UnsafePlace. */
export async function openInside(root: string, path: string): Promise<FileHandle | null> {
  const found = await lstat(join(root, posix.dirname(path))).catch(() => null);
  if (found === null) return null;
  return withFolder(root, posix.dirname(path), async (folder) => {
    const name = join(folder, posix.basename(path));
    const file = await open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null);
    if (file === null || (await file.stat()).isFile()) return file;
    await file.close();
    return null;
  });
}

/** Ensures that the path consists of real folders: a link or file in the way is removed, not its target. */
export async function ensureFolders(root: string, path: string): Promise<void> {
  let at = '.';
  for (const name of path.split('/').filter((each) => each !== '.' && each !== '')) {
    await withFolder(root, at, async (folder) => {
      const found = await lstat(join(folder, name)).catch(() => null);
      if (found !== null && !found.isDirectory()) await unlink(join(folder, name));
      if (!found?.isDirectory()) await mkdir(join(folder, name), { mode: 0o700 });
    });
    at = posix.join(at, name);
  }
}

/**
 * Paths of all regular files below a folder of the root, at most ten folders deep; links and special files are skipped.
 * However many names there are, only a limited number per returned file is examined.
 */
export async function filesBelow(
  root: string,
  top: string,
  most: number,
  signal?: AbortSignal,
): Promise<string[]> {
  const found: string[] = [];
  let looks = most * LOOKS;
  const visit = async (below: string, depth: number): Promise<void> => {
    const folders: string[] = [];
    await withFolder(root, posix.join(top, below), async (folder) => {
      for await (const entry of await opendir(folder)) {
        signal?.throwIfAborted();
        if (found.length >= most || (looks -= 1) < 0) return;
        const path = posix.join(below, entry.name);
        if (entry.isFile()) found.push(path);
        else if (entry.isDirectory() && depth < MAX_DEPTH) folders.push(path);
      }
    }).catch(() => undefined);
    for (const path of folders) if (found.length < most && looks > 0) await visit(path, depth + 1);
  };
  await visit('', 1);
  signal?.throwIfAborted();
  return found;
}

/** Opens a folder of the root and passes on a name that is bound to it. Throws UnsafePlace if it lies outside. */
export async function withFolder<T>(
  root: string,
  path: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const real = await realpath(root).catch(() => null);
  if (real === null) throw new UnsafePlace('it is gone');
  const wanted = posix.join(real, path);
  // The root may be a descriptor's name, itself a link, so a path inside it (or `.`) is opened.
  const handle = await open(`${root}/${path}`, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((err: Error) => {
    throw new UnsafePlace(`${path} is not a folder: ${err.message}`);
  });
  try {
    // Without /proc, the name is all there is.
    const held = `/proc/self/fd/${handle.fd}`;
    const place = await readlink(held).catch(() => null);
    if ((place ?? (await realpath(join(root, path)))) !== trimmed(wanted))
      throw new UnsafePlace(`${path} leads elsewhere`);
    return await work(place === null ? join(root, path) : held);
  } finally {
    await handle.close();
  }
}

const trimmed = (path: string): string => (path.length > 1 ? path.replace(/\/+$/, '') : path);
