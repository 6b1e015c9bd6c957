import { lstat, mkdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';

/** Somebody else may remove an empty parent meanwhile. */
const MAKE_ATTEMPTS = 4;

/**
 * Whether the path is one of the folders or inside one, following links on both sides. A path that does not exist yet is
 * judged by its nearest existing parent. The answer is a snapshot: links can change.
 */
export async function isInsideFolder(path: string, folders: readonly string[]): Promise<boolean> {
  const real = await realPlace(path);
  if (real === undefined) return false;
  const roots = await Promise.all(folders.map(async (folder) => realPlace(folder)));
  return roots.some((root) => root !== undefined && relative(root, real).split(sep)[0] !== '..');
}

/**
 * Creates a folder and its missing parents. Node's own `recursive` never ends where a file system refuses new folders by saying
 * that their parent is missing, as below /proc.
 * @returns the first folder created; undefined if it existed
 */
export async function makeFolders(path: string, mode = 0o777): Promise<string | undefined> {
  const whole = resolve(path);
  let first: string | undefined;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await makeFolder(whole, mode)) ? (first ?? whole) : first;
    } catch (err) {
      if (!isMissing(err) || whole === dirname(whole) || attempt === MAKE_ATTEMPTS) throw err;
    }
    first = (await makeFolders(dirname(whole), mode)) ?? first;
  }
}

/** @returns false if it existed, or a link to it did */
async function makeFolder(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (err) {
    if (isMissing(err)) throw err;
    // Whatever the error, as on a file system that can't be written: an existing folder is as good.
    const found = await stat(path).catch(() => null);
    if (found?.isDirectory()) return false;
    throw err;
  }
}

/** Resolves links in the path whether or not it exists (yet); undefined if that is impossible. */
export async function realPlace(path: string): Promise<string | undefined> {
  return path.includes('\0') ? undefined : resolveLinks(resolve(path));
}

/** Undefined where links can't be resolved (broken, circular, no permission): the location is unknown. */
async function resolveLinks(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (err) {
    if (!isMissing(err) || path === dirname(path)) return undefined;
  }
  const found = await lookAt(path);
  if (found === 'unknown') return undefined;
  // Created by another process since the first look: resolve again.
  if (found === 'made') return resolveLinks(path);
  const parent = await resolveLinks(dirname(path));
  return parent === undefined ? undefined : join(parent, basename(path));
}

/** Checks a path that did not resolve a moment ago. A broken link exists even though its target does not. */
async function lookAt(path: string): Promise<'nothing' | 'made' | 'unknown'> {
  try {
    return (await lstat(path)).isSymbolicLink() ? 'unknown' : 'made';
  } catch (err) {
    return isMissing(err) ? 'nothing' : 'unknown';
  }
}

function isMissing(err: unknown): boolean {
  return err instanceof Error && 'code' in err && err.code === 'ENOENT';
}
