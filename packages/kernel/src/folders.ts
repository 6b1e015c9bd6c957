import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';

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
