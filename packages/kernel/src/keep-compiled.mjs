/**
 * Runs before any other module of ours is loaded, and is plain JavaScript for that reason: an entry point and its static
 * imports are read before the compile cache is enabled, and the first TypeScript file loads the type stripper, which stays in
 * memory for good (17 MB). Once the cache is enabled, it serves all files already stripped of types.
 */
import { enableCompileCache, constants } from 'node:module';
import path from 'node:path';

/** The checkout's own cache; if that isn't writable (an image, a protected unit), the instance's. */
export function keepCompiled(
  folders = [path.resolve(import.meta.dirname, '../../../.build'), process.env.SERVICE_HOME],
) {
  for (const folder of folders) {
    if (!folder) continue;
    const { status } = enableCompileCache(path.join(folder, 'compile-cache'));
    if (status !== constants.compileCacheStatus.FAILED) return;
  }
}
