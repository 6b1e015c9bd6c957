// Jest's test runner without jest's own module loading: Node imports the test file in this worker's realm, and its imports
// stay loaded for the worker's next file. All else (hooks, time limits, reports) is jest-circus. Why: docs/adr/0041.
import { readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { loadQuickly } from '../../packages/program/src/quick-loading.ts';
import { beginEntry } from './cpu-ledger.ts';
import { takeGlobals } from './jest-globals.ts';

type RunFile = (...args: unknown[]) => Promise<unknown>;

interface Order {
  randomize?: boolean;
}

const require = createRequire(import.meta.url);
const { default: runWithCircus }: { default: RunFile } = require('jest-circus/runner');
const root = path.resolve(import.meta.dirname, '../..');
const flushCache = loadQuickly(path.join(root, '.build/compile-cache'));
// For jest's own processes (run-jest.ts); those that tests start have the environment they would have without jest.
delete process.env.NODE_COMPILE_CACHE;
// A worker whose jest was killed would finish its test file, and wait for the next one for as long as something is open.
// (A listener to `disconnect` would keep it running after its last file.)
if (process.connected)
  setInterval(() => {
    if (!process.connected) process.exit(1);
  }, 500).unref();

// The package of that name only throws: normally jest's module loading replaces it.
const globalsUrl = new URL('jest-globals.ts', import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: globalsUrl, shortCircuit: true } : next(specifier, context),
});

/** The parts of jest-runtime that jest-circus uses. */
const runtime = {
  requireInternalModule(file: string): unknown {
    // It keeps a file's tests in its module and in globals of this realm, and expects both to be new for each file.
    delete require.cache[file];
    for (const key of Object.getOwnPropertySymbols(globalThis)) {
      if (key.description === 'EVENT_HANDLERS' || key.description === 'JEST_STATE_SYMBOL')
        Reflect.deleteProperty(globalThis, key);
    }
    return require(file);
  },
  requireModule: (file: string): unknown => require(file),
  unstable_shouldLoadAsEsm: () => true,
  /** Loads the test file and, before it, those of `setupFilesAfterEnv`, which are loaded once and called for each file. */
  async unstable_importModule(file: string): Promise<void> {
    const { beforeFile }: { beforeFile?: () => Promise<void> } = await import(pathToFileURL(file).href);
    await beforeFile?.();
  },
  setGlobalsForRuntime: takeGlobals,
  enterTestCode: () => undefined,
  leaveTestCode: () => undefined,
};

/** A header with `@in-order` says that the file's tests are one story: even `--randomize` does not shuffle them. */
function orderOf<T extends Order>(globalConfig: T, testPath: string): T {
  const isStory = () => /^\/\*\*(?:(?!\*\/)[^])*@in-order\b/.test(readFileSync(testPath, 'utf8'));
  return globalConfig.randomize === true && isStory() ? { ...globalConfig, randomize: false } : globalConfig;
}

/** Replaces `jest-circus/runner` as jest's `testRunner`. */
export default async function runNatively(
  globalConfig: Order,
  config: unknown,
  environment: unknown,
  _ofJest: unknown,
  testPath: string,
  report: unknown,
): Promise<unknown> {
  const endEntry = beginEntry(root, testPath);
  try {
    return await runWithCircus(
      orderOf(globalConfig, testPath),
      config,
      environment,
      runtime,
      testPath,
      report,
    );
  } finally {
    flushCache();
    endEntry();
  }
}
