/**
 * What an entry does before anything else of ours is loaded, and plain JavaScript for that: the entry itself and what it
 * imports at once are read before there is a cache, and the first file with types loads the stripper of them, which a process
 * keeps for good (17 MB). Behind it the cache has all files without their types.
 */
import { enableCompileCache, constants } from 'node:module';
import path from 'node:path';

/** Of this checkout; where that can't be written (an image, a unit that protects it), the instance's. */
export function keepCompiled(
  folders = [path.resolve(import.meta.dirname, '../../../.build'), process.env.SERVICE_HOME],
) {
  for (const folder of folders) {
    if (!folder) continue;
    const { status } = enableCompileCache(path.join(folder, 'compile-cache'));
    if (status !== constants.compileCacheStatus.FAILED) return;
  }
}
