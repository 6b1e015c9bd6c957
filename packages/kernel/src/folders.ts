import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';

/**
 * Whether the path is one of the folders or lies in one, links followed on both sides. What does not exist yet counts
 * by its nearest existing parent. The answer holds for now: links can change.
 */
export async function isInsideFolder(path: string, folders: readonly string[]): Promise<boolean> {
  const real = await realPlace(path);
  if (real === undefined) return false;
  const roots = await Promise.all(folders.map(async (folder) => realPlace(folder)));
  return roots.some((root) => root !== undefined && relative(root, real).split(sep)[0] !== '..');
}

/** The path with its links followed, whether it exists (yet) or not; undefined where that can't be told. */
export async function realPlace(path: string): Promise<string | undefined> {
  return path.includes('\0') ? undefined : resolveLinks(resolve(path));
}

/** Undefined where links can't be followed to their end (broken, a circle, no permission): the place is not known. */
async function resolveLinks(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (err) {
    if (!isMissing(err) || path === dirname(path)) return undefined;
  }
  const found = await lookAt(path);
  if (found === 'unknown') return undefined;
  // Made since the first look, by whoever else prepares it: it is asked again where that leads.
  if (found === 'made') return resolveLinks(path);
  const parent = await resolveLinks(dirname(path));
  return parent === undefined ? undefined : join(parent, basename(path));
}

/** What lies at a path that led nowhere a moment ago. A broken link exists, although what it leads to does not. */
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
