/**
 * Loads a program from its bundle: its modules and libraries in a few files, at a third of the processor time and half of the
 * memory that loading two thousand modules takes. A missing or outdated bundle is built first (build-programs.ts); where that is
 * impossible (the checkout isn't writable, or esbuild isn't installed), the program runs from its sources.
 *
 * Plain JavaScript, because it runs before the compile cache is enabled, and the first TypeScript file that Node.js doesn't find
 * there loads the type stripper, which stays in memory for good (17 MB).
 */
import { spawn } from 'node:child_process';
import { accessSync, constants as access, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { isAscii } from 'node:buffer';
import { constants, enableCompileCache, flushCompileCache, registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const root = path.resolve(import.meta.dirname, '../../..');

/** A home may serve processes of two releases during an upgrade. */
const KEPT_CACHES = 3;

/** Each exports the function that runs it. */
export const PROGRAMS = {
  service: 'apps/launcher/src/service.ts',
  ctl: 'apps/ctl/src/run-ctl.ts',
  worker: 'apps/worker/src/process.ts',
};

/** Where bundles are; as deep as a package's `src`, for that is where `repositoryRoot` of @acp/kernel starts from. */
export const bundles = path.join(root, '.build/programs');
const manifestFile = path.join(bundles, 'manifest.json');

/**
 * @typedef {object} Manifest
 * @property {string} folder the latest bundle's, in `bundles`
 * @property {boolean} sealed its sources will not change: nobody looks at them
 * @property {Record<string, string>} sources what it was made of, with the version that each had (`versionOf`)
 */

/** @param {string} file of the checkout @returns {string} differs once the file has changed */
export function versionOf(file) {
  const found = statSync(path.join(root, file), { throwIfNoEntry: false });
  return found === undefined ? 'missing' : `${found.size} ${found.mtimeMs}`;
}

/** @returns {string | undefined} the folder of the bundle, unless it is missing or its sources have changed since */
export function currentBundle() {
  try {
    /** @type {Manifest} */
    const { folder, sealed, sources } = JSON.parse(readFileSync(manifestFile, 'utf8'));
    const isCurrent =
      sealed || Object.entries(sources).every(([file, version]) => versionOf(file) === version);
    return isCurrent ? path.join(bundles, folder) : undefined;
  } catch {
    return undefined;
  }
}

/** @param {keyof typeof PROGRAMS} name @returns {Promise<any>} its module; call `keepCompiled` once everything is loaded */
export async function loadProgram(name) {
  const bundle = currentBundle() ?? (await build());
  if (bundle !== undefined) {
    cacheCompiled(bundle, path.basename(bundle));
    readAsAscii(bundle);
    return import(path.join(bundle, `${name}.mjs`));
  }
  cacheCompiled(path.join(root, '.build'), 'sources');
  const { loadQuickly } = await import('./quick-loading.ts');
  loadQuickly(path.join(root, '.build/compile-cache'));
  return import(path.join(root, PROGRAMS[name]));
}

/**
 * Node.js makes a text of more than a megabyte of two bytes per character, whatever is in it.
 * @param {string} bundle
 */
function readAsAscii(bundle) {
  const ours = `${pathToFileURL(bundle).href}/`;
  registerHooks({
    load(url, context, next) {
      if (!url.startsWith(ours)) return next(url, context);
      const bytes = readFileSync(new URL(url));
      const source = bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');
      return { format: 'module', source, shortCircuit: true };
    },
  });
}

/** Writes what has been compiled, for the next start. Don't leave it to the end of the process, which may be a SIGKILL. */
export const keepCompiled = flushCompileCache;

/**
 * With what it was compiled from; if that isn't writable (an image, a protected unit), in the instance's home, where only the
 * latest stay.
 * @param {string} beside
 * @param {string} name
 */
function cacheCompiled(beside, name) {
  if (isEnabled(path.join(beside, 'compile-cache'))) return;
  const { SERVICE_HOME: home } = process.env;
  if (!home) return;
  const folder = path.join(home, 'compile-cache');
  if (isEnabled(path.join(folder, name))) removeOldest(folder);
}

/** @param {string} folder */
const isEnabled = (folder) => enableCompileCache(folder).status !== constants.compileCacheStatus.FAILED;

/** @param {string} folder */
function removeOldest(folder) {
  try {
    const found = readdirSync(folder).map((name) => path.join(folder, name));
    const ages = found.map((place) => ({ place, used: statSync(place).mtimeMs }));
    const old = ages.toSorted((one, other) => other.used - one.used).slice(KEPT_CACHES);
    for (const { place } of old) rmSync(place, { recursive: true, force: true });
  } catch {
    // Another process removes them, too.
  }
}

/** In a process of its own, whose memory ends with it. @returns {Promise<string | undefined>} */
async function build() {
  try {
    accessSync(root, access.W_OK);
  } catch {
    return undefined;
  }
  const builder = path.join(import.meta.dirname, 'build-programs.ts');
  const child = spawn(process.execPath, ['--no-warnings', builder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await new Promise((resolve) => child.once('error', resolve).once('exit', resolve));
  return currentBundle();
}
