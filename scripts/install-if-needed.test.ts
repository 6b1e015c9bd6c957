import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const root = path.resolve(import.meta.dirname, '..');
const SCRIPT = 'scripts/install-if-needed.mjs';
const LOCK = 'packages/program/src/one-at-a-time.mjs';
const RECORD = 'node_modules/.package-lock.json';
const used = { 'node_modules/used': { version: '1.0.0' } };
const all = { ...used, 'node_modules/checker': { version: '2.0.0', dev: true } };

let project: string;
const at = (...parts: string[]): string => path.join(project, ...parts);

beforeAll(async () => {
  project = await mkdtemp(path.join(tmpdir(), 'install-test-'));
  for (const file of [SCRIPT, LOCK]) await cp(path.join(root, file), at(file), { recursive: true });
  await mkdir(at('bin'));
  // Installs everything, and says what it was asked for.
  const npm = [
    '#!/bin/sh',
    `echo "$@" >> '${at('calls')}'`,
    `cp '${at('package-lock.json')}' '${at(RECORD)}'`,
  ];
  await writeFile(at('bin/npm'), npm.join('\n'));
  await chmod(at('bin/npm'), 0o755);
  await writeFile(at('package-lock.json'), JSON.stringify({ packages: all }));
});
afterAll(async () => rm(project, { recursive: true, force: true }));

const run = async (script: string): Promise<unknown> =>
  promisify(execFile)(process.execPath, [at(SCRIPT)], {
    env: { PATH: `${at('bin')}${path.delimiter}${process.env.PATH ?? ''}`, npm_lifecycle_event: script },
  });
const installs = async (): Promise<string[]> =>
  (await readFile(at('calls'), 'utf8').catch(() => '')).split('\n').filter(Boolean);

it('leaves an installation without development dependencies to scripts that need none', async () => {
  await mkdir(at('node_modules'));
  await writeFile(at(RECORD), JSON.stringify({ packages: used }));
  for (const script of ['build', 'start', 'build']) await run(script);
  expect(await installs()).toEqual([]);
});

it('installs them for a script that does, once, whatever NODE_ENV says', async () => {
  for (const script of ['test', 'test', 'build', 'lint']) await run(script);
  expect(await installs()).toEqual(['ci --include=dev --loglevel=error']);
});

it('installs everything where a package of the lock file is missing or of another version', async () => {
  await writeFile(
    at('package-lock.json'),
    JSON.stringify({ packages: { ...all, 'node_modules/used': { version: '1.1.0' } } }),
  );
  await run('start');
  await run('start');
  expect((await installs()).slice(1)).toEqual(['ci --loglevel=error']);
});
