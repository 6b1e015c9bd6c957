import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';

/**
 * Whether the path is one of the folders or lies in one, links followed on both sides. What does not exist yet counts
 * by its nearest existing parent. The answer holds for now: links can change.
 */
export async function isInsideFolder(path: string, folders: readonly string[]): Promise<boolean> {
  if (path.includes('\0')) return false;
  const real = await resolveLinks(resolve(path));
  if (real === undefined) return false;
  const roots = await Promise.all(folders.map(async (folder) => resolveLinks(resolve(folder))));
  return roots.some((root) => root !== undefined && relative(root, real).split(sep)[0] !== '..');
}

/** Undefined where links can't be followed to their end (broken, a circle, no permission): the place is not known. */
async function resolveLinks(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (err) {
    if (!isMissing(err) || path === dirname(path) || (await exists(path))) return undefined;
  }
  const parent = await resolveLinks(dirname(path));
  return parent === undefined ? undefined : join(parent, basename(path));
}

/** A broken link exists, although what it leads to does not. */
async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (err) {
    return !isMissing(err);
  }
}

function isMissing(err: unknown): boolean {
  return err instanceof Error && 'code' in err && err.code === 'ENOENT';
}
