import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const quickLoading = path.resolve(import.meta.dirname, 'quick-loading.ts');

describe('a process that loads quickly', () => {
  let folder: string;

  beforeEach(() => {
    // The loader's view: if the temporary folder is a link, module URLs contain its target.
    folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'acp-loading-')));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function write(files: Record<string, string>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), text);
    }
  }

  function start(program: string, maxEntries = 100): string {
    const entry = `
      import { loadQuickly } from '${quickLoading}';
      const loaded = loadQuickly('${folder}/cache', ${maxEntries});
      ${program}
      loaded();`;
    return execFileSync(process.execPath, ['--input-type=module', '--eval', entry], { encoding: 'utf8' });
  }

  const named = (name: string): Record<string, string> => ({
    'package.json': JSON.stringify({ name: 'letter', type: 'module', exports: { '.': './index.js' } }),
    'index.js': `export { letter } from './own.js';`,
    'own.js': `export const letter = '${name}';`,
  });
  const under = (place: string, files: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${place}/${name}`, text]));

  it('finds for each package its own version of another, from every folder of its sources', () => {
    write({
      ...under('node_modules/letter', named('A')),
      ...under('packages/two/node_modules/letter', named('B')),
      'packages/one/src/index.mjs': `export * from './deep/inside.mjs'; import 'letter';`,
      'packages/one/src/deep/inside.mjs': `export { letter as one } from 'letter';`,
      'packages/two/src/index.mjs': `export * from './deep/inside.mjs'; import 'letter';`,
      'packages/two/src/deep/inside.mjs': `export { letter as two } from 'letter';`,
    });
    const said = start(`
      const { one } = await import('${folder}/packages/one/src/index.mjs');
      const { two } = await import('${folder}/packages/two/src/index.mjs');
      console.log(one, two);`);
    expect(said.trim()).toBe('A B');
  });

  it('keeps apart what is imported and what is required, and errors are said again', () => {
    write({
      'node_modules/both/package.json': JSON.stringify({
        name: 'both',
        exports: { import: './a.mjs', require: './b.cjs' },
      }),
      'node_modules/both/a.mjs': `export default 'imported';`,
      'node_modules/both/b.cjs': `module.exports = 'required';`,
      'src/index.mjs': `
        import { createRequire } from 'node:module';
        import both from 'both';
        export const said = [both, createRequire(import.meta.url)('both')];
        for (const time of [1, 2]) await import('none').catch((err) => said.push(err.code));`,
    });
    expect(start(`console.log((await import('${folder}/src/index.mjs')).said.join(' '));`).trim()).toBe(
      'imported required ERR_MODULE_NOT_FOUND ERR_MODULE_NOT_FOUND',
    );
  });

  it('takes neighbours for what they are: of their own package, links, missing', () => {
    write({
      'package.json': JSON.stringify({ type: 'module' }),
      'src/index.js': `
        import { kind as first } from './first.js';
        import { kind as second } from './second.js?again';
        import old from './old/old.js';
        import older from './old/older.js';
        import { kind as linked } from './linked.js';
        import { kind as beyond } from './other/linked.js';
        export const said = [first, second, old, older, linked, beyond];
        for (const time of [1, 2]) await import('./none.js').catch((err) => said.push(err.code));`,
      ...under('src/old', {
        'package.json': '{}',
        'old.js': `module.exports = 'old';`,
        'older.js': `module.exports = 'older';`,
      }),
      ...under('src', {
        'first.js': `export const kind = 'first';`,
        'second.js': `export const kind = 'second';`,
      }),
      ...under('elsewhere', {
        'target.js': `export { kind } from './beside.js';`,
        'linked.js': `export { kind } from './beside.js';`,
        'beside.js': `export const kind = 'of the target';`,
      }),
    });
    symlinkSync('../elsewhere/target.js', path.join(folder, 'src/linked.js'));
    symlinkSync('../elsewhere', path.join(folder, 'src/other'));
    expect(start(`console.log((await import('${folder}/src/index.js')).said.join(', '));`).trim()).toBe(
      'first, second, old, older, of the target, of the target, ERR_MODULE_NOT_FOUND, ERR_MODULE_NOT_FOUND',
    );
  });

  it('keeps what it compiled, but of old versions of Node only the latest, and never without end', () => {
    write({ 'cache/v1/old': '', 'cache/v2/newer': '', 'cache/v3/newest': '', 'src/index.mjs': 'export {};' });
    for (const [name, age] of [
      ['v1', 3000],
      ['v2', 2000],
      ['v3', 1000],
    ] as const) {
      const then = Date.now() / 1000 - age;
      utimesSync(path.join(folder, 'cache', name), then, then);
    }
    const program = `await import('${folder}/src/index.mjs');`;
    start(program);
    const [ours = ''] = readdirSync(path.join(folder, 'cache')).filter((name) => name !== 'v3');
    expect(readdirSync(path.join(folder, 'cache')).toSorted()).toEqual(['v3', ours].toSorted());
    expect(readdirSync(path.join(folder, 'cache', ours)).length).toBeGreaterThan(0);
    start(program, 0);
    expect(existsSync(path.join(folder, 'cache', ours))).toBe(false);
  });

  it('starts where its folder cannot be written', () => {
    write({ cache: 'a file', 'src/index.mjs': `export const said = 'well';` });
    expect(start(`console.log((await import('${folder}/src/index.mjs')).said);`).trim()).toBe('well');
  });
});
