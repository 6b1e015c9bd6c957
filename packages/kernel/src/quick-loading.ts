// What makes a process load its modules in half the time. Imports nothing of ours: everything else is to profit by it.
import { enableCompileCache, flushCompileCache, registerHooks } from 'node:module';
import { readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';

/** One folder per version of Node: the one in use and the one before an upgrade. */
const KEPT_VERSIONS = 2;
/** All our programs write about 5,000. An entry is named after its module's path: only modules that move leave any behind. */
const MAX_ENTRIES = 20_000;

/**
 * To be called by the entry of a process before it imports the rest, and the function returned once that is loaded: not
 * left to the end of the process, which may be a SIGKILL.
 * @param folder where compiled code and stripped types are kept between starts; where it can't be written, starts are
 * just slower
 */
export function loadQuickly(folder: string, maxEntries = MAX_ENTRIES): () => void {
  rememberResolutions();
  enableCompileCache(folder);
  return () => {
    flushCompileCache();
    bound(folder, maxEntries);
  };
}

/**
 * Node resolves each import statement anew, and parses the package's `exports` each time: 180 KB in the case of
 * drizzle-orm, some 600 times. What a specifier means depends on the importing folder alone.
 */
function rememberResolutions(): void {
  const resolved = new Map<string, ReturnType<Parameters<typeof registerHooks>[0]['resolve'] & {}>>();
  registerHooks({
    resolve(specifier, context, next) {
      // What `require` finds, Node remembers by itself.
      if (!context.conditions.includes('import')) return next(specifier, context);
      const importer = folderOf(context.parentURL ?? '', specifier);
      const key = `${specifier}\n${importer}\n${context.importAttributes.type ?? ''}`;
      let result = resolved.get(key);
      if (result === undefined) {
        result = { ...next(specifier, context), shortCircuit: true };
        resolved.set(key, result);
      }
      return result;
    },
  });
}

/** Within our own sources a bare specifier means the same in all folders of a package: none has modules of its own. */
function folderOf(importer: string, specifier: string): string {
  const sources = importer.indexOf('/src/');
  const isOurs = sources > 0 && !importer.includes('/node_modules/');
  if (isOurs && /^[@a-z]/.test(specifier)) return importer.slice(0, sources);
  return importer.slice(0, importer.lastIndexOf('/'));
}

function bound(folder: string, maxEntries: number): void {
  try {
    const versions = readdirSync(folder)
      .map((name) => path.join(folder, name))
      .map((place) => ({ place, used: statSync(place).mtimeMs }))
      .toSorted((one, other) => other.used - one.used);
    for (const [index, { place }] of versions.entries()) {
      const isKept = index < KEPT_VERSIONS && readdirSync(place).length <= maxEntries;
      if (!isKept) rmSync(place, { recursive: true, force: true });
    }
  } catch {
    // Another process cleans up too, or the folder isn't ours to write.
  }
}
