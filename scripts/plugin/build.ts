import { chmod, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { build as bundle } from 'esbuild';

export const sdkEntry = resolve(import.meta.dirname, '../../packages/plugin-sdk/src/index.ts');

/**
 * Makes one file that can be run out of `plugin.ts` of a folder and all that it imports: an approval is of one file, and
 * only that is copied.
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
    // Node tells modules of this kind by themselves, in a file without an extension too.
    format: 'esm',
    banner: { js: '#!/usr/bin/env node' },
    alias: { '@acp/plugin-sdk': sdkEntry },
    logLevel: 'silent',
  });
  await chmod(out, 0o755);
  return resolve(out);
}
