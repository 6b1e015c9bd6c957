import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { PROGRAMS } from './load-program.mjs';

const own = path.join('packages/program/src');
const root = path.resolve(import.meta.dirname, '../../..');
let folder: string;

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), text);
}

const say = (word: string) => write('apps/launcher/src/word.ts', `export const word: string = '${word}';`);

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'acp-programs-'));
  for (const file of ['load-program.mjs', 'build-programs.ts', 'one-at-a-time.mjs', 'quick-loading.ts'])
    cpSync(path.join(root, own, file), path.join(folder, own, file));
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  write('package.json', '{ "type": "module" }');
  for (const file of Object.values(PROGRAMS)) write(file, '');
  write(
    PROGRAMS.service,
    `import { word } from './word.ts';
    const stripper = process.moduleLoadList.some((name: string) => /amaro/.test(name)) ? ', types stripped' : '';
    export const said = word + ' from ' + (import.meta.dirname.includes('.build') ? 'a bundle' : 'source') + stripper;`,
  );
  write(
    'start.mjs',
    `import { loadProgram } from './${own}/load-program.mjs';
    console.log((await loadProgram('service')).said);`,
  );
  say('one');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function start(): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(folder, 'start.mjs')]);
  return stdout.trim();
}

const bundlesLeft = () =>
  readdirSync(path.join(folder, '.build/programs')).filter((name) => name.startsWith('bundle-'));

it('a program runs from its bundle, which starts at the same time build once', async () => {
  expect(await Promise.all([start(), start()])).toEqual(['one from a bundle', 'one from a bundle']);
  expect(await start()).toBe('one from a bundle');
  expect(bundlesLeft()).toHaveLength(1);
});

it('a change of a source is in the bundle of the next start, and few older bundles are left', async () => {
  for (const word of ['one', 'second', 'third', 'the fourth', 'the very last']) {
    say(word);
    expect(await start()).toBe(`${word} from a bundle`);
  }
  expect(bundlesLeft()).toHaveLength(3);
});

it('a program takes one byte for each character of its text, however long it is and whatever its templates say', async () => {
  const saying = 'So it’s “said” … 👍';
  const heldBy = async (length: number): Promise<number> => {
    write(
      PROGRAMS.service,
      `const { external, arrayBuffers } = process.memoryUsage();
      const tag = ([text]) => text;
      const long = '${'-'.repeat(length)}';
      export const said = [tag\`${saying}\`, long.length, external - arrayBuffers].join();`,
    );
    const [text, characters, bytes] = (await start()).split(',');
    expect([text, Number(characters)]).toEqual([saying, length]);
    return Number(bytes);
  };
  const more = (await heldBy(2_000_000)) - (await heldBy(1_100_000));
  expect(Math.abs(more - 900_000)).toBeLessThan(100_000);
});

it('a raw template that is not ASCII cannot be bundled', async () => {
  write(PROGRAMS.service, 'export const said = String.raw`it’s`;');
  await expect(
    promisify(execFile)(process.execPath, [path.join(folder, own, 'build-programs.ts')]),
  ).rejects.toThrow('a raw template may only contain ASCII');
});

it('a sealed bundle is taken as it is', async () => {
  await promisify(execFile)(process.execPath, [path.join(folder, own, 'build-programs.ts'), '--sealed']);
  say('another');
  expect(await start()).toBe('one from a bundle');
});

it('where no bundle can be written, a program runs from its sources', async () => {
  write('.build', 'a file');
  expect(await start()).toMatch(/^one from source/);
});

it('tables of character sets are no part of a bundle, and are found when a text needs one', async () => {
  write(
    PROGRAMS.service,
    `import iconv from 'iconv-lite';
    export const said = iconv.decode(Buffer.from('82b182f182c982bf82cd', 'hex'), 'shift_jis');`,
  );
  expect(await start()).toBe('こんにちは');
  const bundle = path.join(folder, '.build/programs', bundlesLeft()[0]!);
  expect(statSync(path.join(bundle, 'service.mjs')).size).toBeLessThan(150_000);
});
