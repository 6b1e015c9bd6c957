// What makes a process load its modules in half the time. Imports nothing of ours: everything else is to profit by it.
import { enableCompileCache, flushCompileCache, getCompileCacheDir, registerHooks } from 'node:module';
import { existsSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';

type Resolved = ReturnType<Parameters<typeof registerHooks>[0]['resolve'] & {}>;

/** One folder per version of Node: the one in use and the one before an upgrade. */
const KEPT_VERSIONS = 2;
/** Node holds what it read of the cache until that is flushed; held to the end it would leave holes of 20 MB. */
const FLUSH_EVERY = 64;
/** All our programs write about 5,000. An entry is named after its module's path: only modules that move leave any behind. */
const MAX_ENTRIES = 20_000;

/**
 * To be called by the entry of a process before it imports the rest, and the function returned once that is loaded: not
 * left to the end of the process, which may be a SIGKILL.
 * @param folder where compiled code and stripped types are kept between starts, unless the process keeps them already
 * (`keep-compiled.mjs`); where it can't be written, starts are just slower
 */
export function loadQuickly(folder: string, maxEntries = MAX_ENTRIES): () => void {
  rememberResolutions();
  if (getCompileCacheDir() === undefined) enableCompileCache(folder);
  return () => {
    flushCompileCache();
    bound(path.dirname(getCompileCacheDir() ?? path.join(folder, 'none')), maxEntries);
  };
}

/**
 * Node resolves each import statement anew, and reads the importing package's description for it each time: 180 KB in the case of
 * drizzle-orm. What a specifier means depends on the importing folder alone, and that of most is plain to see.
 */
function rememberResolutions(): void {
  const resolved = new Map<string, Resolved>();
  const formats = new Map<string, string>();
  let count = 0;
  registerHooks({
    resolve(specifier, context, next) {
      count += 1;
      if (count % FLUSH_EVERY === 0) flushCompileCache();
      // What `require` finds, Node remembers by itself.
      if (!context.conditions.includes('import')) return next(specifier, context);
      const { parentURL: importer = '', importAttributes } = context;
      if (/^\.\.?\//.test(specifier) && importer.startsWith('file:') && importAttributes.type === undefined)
        return neighbour(new URL(specifier, importer), formats, () => next(specifier, context));
      const key = `${specifier}\n${folderOf(importer, specifier)}\n${importAttributes.type ?? ''}`;
      let result = resolved.get(key);
      if (result === undefined) {
        result = { ...next(specifier, context), shortCircuit: true };
        resolved.set(key, result);
      }
      return result;
    },
  });
}

/** @param formats of the files of one ending in one folder, for they belong to one package */
function neighbour(url: URL, formats: Map<string, string>, ask: () => Resolved): Resolved {
  const place = parentOf(url.href) + path.extname(url.pathname);
  const format = formats.get(place);
  if (format === undefined) {
    const found = ask();
    // Without a link on the way, and without a look into the file.
    if (found.url === url.href && found.format) formats.set(place, found.format);
    return found;
  }
  const isFile = lstatSync(url, { throwIfNoEntry: false })?.isFile() ?? false;
  return isFile ? { url: url.href, format, shortCircuit: true } : ask();
}

/** Where Node begins to look for packages; in our own sources the first folder on the way up that has any. */
function folderOf(importer: string, specifier: string): string {
  const folder = parentOf(importer);
  const isOurs = folder.startsWith('file:') && !folder.includes('/node_modules/');
  return isOurs && /^[@a-z]/.test(specifier) ? nearestModules(folder) : folder;
}

const nearest = new Map<string, string>();

function nearestModules(folder: string): string {
  let found = nearest.get(folder);
  if (found === undefined) {
    const above = parentOf(folder);
    const isLast = above === 'file://' || existsSync(new URL(`${folder}/node_modules`));
    found = isLast ? folder : nearestModules(above);
    nearest.set(folder, found);
  }
  return found;
}

const parentOf = (url: string): string => url.slice(0, Math.max(url.lastIndexOf('/'), 0));

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
