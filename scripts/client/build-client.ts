/**
 * Builds the distributable package of the typed client: JavaScript, declarations, no dependencies. Written to
 * `.build/client` or the given folder; `npm pack` and `npm publish` are left to the operator, under a name of their registry.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const source = join(root, 'packages/client');
export const PACKAGE_NAME = 'agent-control-plane-client';

export function buildClient(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const target = ['--target', 'es2022', '--lib', 'es2023,dom,dom.iterable', '--types', '', '--strict'];
  const modules = ['--module', 'nodenext', '--rewriteRelativeImportExtensions', '--declaration'];
  execFileSync(
    join(root, 'node_modules/.bin/tsc'),
    ['--ignoreConfig', ...target, ...modules, '--outDir', join(folder, 'dist'), join(source, 'src/index.ts')],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const manifest = {
    name: PACKAGE_NAME,
    version,
    description: 'Typed client of the agent control plane',
    license: 'UNLICENSED',
    type: 'module',
    engines: { node: '>=20' },
    sideEffects: false,
    exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
    files: ['dist', 'README.md'],
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(source, 'README.md'), join(folder, 'README.md'));
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? join(root, '.build/client'));
  buildClient(folder);
  process.stdout.write(`${folder}\n`);
}
