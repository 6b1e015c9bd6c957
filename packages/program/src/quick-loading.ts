// Halves the time in which a process loads its modules. Imports nothing of ours, so that everything else benefits.
import { enableCompileCache, flushCompileCache, getCompileCacheDir, registerHooks } from 'node:module';
import { existsSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';

type Resolved = ReturnType<Parameters<typeof registerHooks>[0]['resolve'] & {}>;

/** One folder per Node.js version: the current one and the one before an upgrade. */
const KEPT_VERSIONS = 2;
/** Node.js keeps cache entries in memory until they are flushed; kept until exit they would fragment 20 MB. */
const FLUSH_EVERY = 64;
/** All our programs write about 5,000. Entries are named after the module's path, so only moved modules leave stale ones. */
const MAX_ENTRIES = 20_000;

/**
 * Call this from a process's entry point before importing the rest, and call the returned function once that is loaded; don't
 * leave it to the end of the process, which may be a SIGKILL.
 * @param folder where compiled code and stripped types are cached between starts, unless the process has a cache already
 * (`keep-compiled.mjs`); if it isn't writable, starts are merely slower
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
 * Node.js resolves every import statement anew and reads the importing package's package.json each time: 180 KB in the case of
 * drizzle-orm. The meaning of a specifier depends only on the importing folder, and is mostly obvious.
 */
function rememberResolutions(): void {
  const resolved = new Map<string, Resolved>();
  const formats = new Map<string, string>();
  let count = 0;
  registerHooks({
    resolve(specifier, context, next) {
      count += 1;
      if (count % FLUSH_EVERY === 0) flushCompileCache();
      // Node.js caches what `require` resolves by itself.
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

/** @param formats the formats of files by ending and folder, since those belong to the same package */
function neighbour(url: URL, formats: Map<string, string>, ask: () => Resolved): Resolved {
  const place = parentOf(url.href) + path.extname(url.pathname);
  const format = formats.get(place);
  if (format === undefined) {
    const found = ask();
    // Only without a link on the way; the file itself is not opened.
    if (found.url === url.href && found.format) formats.set(place, found.format);
    return found;
  }
  const isFile = lstatSync(url, { throwIfNoEntry: false })?.isFile() ?? false;
  return isFile ? { url: url.href, format, shortCircuit: true } : ask();
}

/** The folder where Node.js starts looking for packages; for our own sources, the nearest folder above that has any. */
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
    // Another process is cleaning up too, or the folder isn't ours to write.
  }
}
