/**
 * Files in a folder that somebody else writes too: an agent may have put a link, a pipe or a folder where a file is
 * expected. No link is followed, and before a byte is written or read it is looked at where the open file really lies.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, rm } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** The place leads out of the folder, or is no file. */
export class UnsafePlace extends Error {}

/** Replaces whatever lies there. @param path relative, of ordinary names. Throws UnsafePlace. */
export async function writeInside(
  folder: string,
  path: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<void> {
  const target = join(folder, path);
  await makeFolders(folder, path);
  const found = await lstat(target).catch(() => null);
  if (found !== null && !found.isFile()) await rm(target, { recursive: true, force: true });
  const file = await open(target, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    await assertInside(file, folder, path);
    await file.truncate(0);
    for await (const chunk of bytes) await file.write(chunk);
  } finally {
    await file.close();
  }
}

/** Null for what is not there, or is no file. The caller closes it. Throws UnsafePlace. */
export async function openInside(folder: string, path: string): Promise<FileHandle | null> {
  let file: FileHandle;
  try {
    file = await open(join(folder, path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    if ((await file.stat()).isFile()) {
      await assertInside(file, folder, path);
      return file;
    }
  } catch (err) {
    await file.close();
    throw err;
  }
  await file.close();
  return null;
}

/** Paths of all files below, links and what is no file left out; at most so many, at most ten folders deep. */
export async function filesBelow(folder: string, most: number): Promise<string[]> {
  const found: string[] = [];
  const visit = async (below: string, depth: number): Promise<void> => {
    const entries = await readdir(join(folder, below), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (found.length >= most) return;
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isFile()) found.push(path);
      else if (entry.isDirectory() && depth < MAX_DEPTH) await visit(path, depth + 1);
    }
  };
  await visit('', 1);
  return found;
}
const MAX_DEPTH = 10;

/** Each folder on the way is one; what else lies there goes. */
async function makeFolders(folder: string, path: string): Promise<void> {
  let at = folder;
  for (const name of dirname(path).split('/')) {
    if (name === '.') continue;
    at = join(at, name);
    const found = await lstat(at).catch(() => null);
    if (found !== null && !found.isDirectory()) await rm(at, { force: true });
    await mkdir(at, { mode: 0o700 }).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'EEXIST') throw err;
    });
  }
}

/** A folder on the way may have become a link since it was looked at. */
async function assertInside(file: FileHandle, folder: string, path: string): Promise<void> {
  const root = await realpath(folder);
  // Where there is no /proc the name is all that can be asked for.
  const place = await readlink(`/proc/self/fd/${file.fd}`).catch(async () => realpath(join(folder, path)));
  if (place !== join(root, path.replaceAll('/', sep))) throw new UnsafePlace(`${path} leads elsewhere`);
}
