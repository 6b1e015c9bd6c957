/**
 * Files in a folder that somebody else writes too: an agent may have put a link, a pipe or a file where a folder is
 * expected, and may do so at any moment. No link is followed: a folder is opened first, it is looked at where it really
 * lies, and what is done then is done within the open folder, wherever its name leads by then.
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

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const MAX_DEPTH = 10;
/** Names that are looked at for each file that may be found. */
const LOOKS = 20;
/** Of the 4,096 characters that a path may have. */
const PATH_HALF = 2000;
/** That a tree may be too deep in so many places. */
const MOST_MOVES = 2000;

/** The place leads out of the folder. */
export class UnsafePlace extends Error {}

/**
 * Replaces what is there, atomically.
 * @param path relative, of ordinary names
 * @param half what the file is called until it is whole; where one of that name lies, a process died over it
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
      for await (const chunk of bytes) await file.write(chunk);
      await file.close();
      const found = await lstat(join(folder, name)).catch(() => null);
      if (found?.isDirectory()) await rm(join(folder, name), { recursive: true, force: true });
      await rename(temporary, join(folder, name));
    } catch (err) {
      await file.close().catch(() => undefined);
      await unlink(temporary).catch(() => undefined);
      throw err;
    }
  });
}

/** Removes a file, or the link in its place; never what a link leads to. Nothing where nothing lies. */
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
 * Removes a folder with all that lies in it, however deep; links go, not what they lead to. Never rejects: what could not be
 * removed is found again by whoever clears the place.
 */
export async function dropTree(root: string, path: string): Promise<void> {
  await withFolder(root, posix.dirname(path), async (folder) => {
    const names = [posix.basename(path)];
    for (let moves = 0; names.length > 0;) {
      const deep = await removeWhole(join(folder, names.at(-1)!));
      if (deep === null) names.pop();
      else if ((moves += 1) > MOST_MOVES) return;
      else names.push(await moveUp(folder, deep));
    }
  }).catch(() => undefined);
}

/** @returns null, or a path within that is too long to be removed by its name */
async function removeWhole(path: string): Promise<string | null> {
  try {
    await rm(path, { recursive: true, force: true });
    return null;
  } catch (err) {
    const { code, path: place } = err as NodeJS.ErrnoException;
    if (code === 'ENAMETOOLONG' && place?.startsWith(`${path}/`)) return place;
    throw err;
  }
}

/** Half of a path that is too long becomes a folder beside the one it lies in. @returns its name */
async function moveUp(folder: string, deep: string): Promise<string> {
  const half = posix.relative(folder, deep.slice(0, deep.lastIndexOf('/', PATH_HALF)));
  const name = `dropped-${newId()}`;
  await withFolder(folder, posix.dirname(half), async (from) =>
    rename(join(from, posix.basename(half)), join(folder, name)),
  );
  return name;
}

/** Null for what is not there, or is no file. The caller closes it. Throws UnsafePlace. */
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

/** Makes a folder of its own of what lies there: a link or a file goes, not what it leads to. */
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
 * Paths of all files below a folder of the root, links and what is no file left out; ten folders deep at most. However many
 * names lie there, no more than some for each file are looked at.
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

/** Opens a folder of the root and hands over a name that keeps to it. Throws UnsafePlace where it lies elsewhere. */
export async function withFolder<T>(
  root: string,
  path: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const real = await realpath(root).catch(() => null);
  if (real === null) throw new UnsafePlace('it is gone');
  const wanted = posix.join(real, path);
  // The root may be a descriptor's name, which is a link itself: what lies in it is opened, the root included.
  const handle = await open(`${root}/${path}`, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((err: Error) => {
    throw new UnsafePlace(`${path} is no folder: ${err.message}`);
  });
  try {
    // Where there is no /proc, the name is all that there is to go by.
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
