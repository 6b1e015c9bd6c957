import { chmod, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { build as bundle } from 'esbuild';

export const sdkEntry = resolve(import.meta.dirname, '../../packages/plugin-sdk/src/index.ts');

/**
 * Bundles a folder's `plugin.ts` and all its imports into one executable file: an approval covers one file, and only that
 * file is copied.
 * @returns its path, `dist/<name of the folder>`
 */
export async function build(
  folder: string,
  out = join(folder, 'dist', basename(resolve(folder))),
): Promise<string> {
  const entry = join(folder, 'plugin.ts');
  if (!(await stat(entry).catch(() => null))?.isFile()) throw new Error(`there is no ${entry}`);
  await bundle({
    entryPoints: [entry],
    outfile: out,
    bundle: true,
    platform: 'node',
    target: 'node22',
    // Node detects ES modules by their syntax, even in a file without an extension.
    format: 'esm',
    banner: { js: '#!/usr/bin/env node' },
    alias: { '@acp/plugin-sdk': sdkEntry },
    logLevel: 'silent',
  });
  await chmod(out, 0o755);
  return resolve(out);
}
