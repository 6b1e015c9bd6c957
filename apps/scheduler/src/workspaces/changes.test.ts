import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { changesBetween } from './changes.ts';

let repository: string;
beforeAll(() => {
  repository = mkdtempSync(path.join(tmpdir(), 'acp-changes-'));
  shell('git init -q');
});
afterAll(() => rmSync(repository, { recursive: true, force: true }));

const identity = { NAME: 'Ada', EMAIL: 'ada@example.com' };
const of = (who: string) => Object.entries(identity).map(([key, value]) => [`GIT_${who}_${key}`, value]);
const env = { PATH: process.env.PATH, ...Object.fromEntries([...of('AUTHOR'), ...of('COMMITTER')]) };

const shell = (script: string): string =>
  execFileSync('sh', ['-euc', script], { cwd: repository, env, encoding: 'utf8' }).trim();
/** Everything in the folder becomes a commit. @returns its hash */
const commit = (script: string): string =>
  shell(`${script}\ngit add -A; git commit -qm changed; git rev-parse HEAD`);

it('shows the change of each file under its own name, though without binary files git finds other renames', async () => {
  const from = commit('for n in $(seq 100 189); do seq $((n * 100)) $((n * 100 + 20)) > text-$n; done');
  // Too many for git to look for renames; they are left out when patches are made.
  const to = commit(`rm text-*; for n in $(seq 1000 2799); do printf '\\0-%s' $n > binary-$n; done
    seq 10000 10019 > text-moved; echo wrong > zz`);
  const { files } = await changesBetween(repository, from, to, new AbortController().signal);
  const texts = files.filter(({ binary }) => !binary);
  expect(texts).toHaveLength(92);
  const unlike = texts.filter(({ path: name, patch }) => {
    const number = name.replace('text-', '');
    const begins = { 'text-moved': '+10000\n', zz: '+wrong\n' }[name] ?? `-${Number(number) * 100}\n`;
    return patch !== null && !patch.includes(` @@\n${begins}`);
  });
  expect(unlike).toEqual([]);
  expect(texts.find(({ path: name }) => name === 'zz')?.patch).toBe('@@ -0,0 +1 @@\n+wrong\n');
});

it('shows both halves of a file that became a link', async () => {
  const from = commit('rm -f ./*; echo one > a; echo other > b');
  const to = commit('ln -sf b a');
  const { files } = await changesBetween(repository, from, to, new AbortController().signal);
  expect(files).toMatchObject([{ path: 'a', status: 'type_changed', patch_truncated: false }]);
  expect(files[0]!.patch).toBe('@@ -1 +0,0 @@\n-one\n@@ -0,0 +1 @@\n+b\n\\ No newline at end of file\n');
});

it('has a gigabyte of memory, for commits whose trees contain each other', async () => {
  const [from, to] = [commit('echo one > a'), commit('echo two > a')];
  const programs = mkdtempSync(path.join(tmpdir(), 'acp-git-'));
  const { PATH } = process.env;
  const seen = path.join(programs, 'limit');
  const program = `#!/bin/sh\nulimit -d > ${seen}\nexec ${shell('command -v git')} "$@"\n`;
  writeFileSync(path.join(programs, 'git'), program, { mode: 0o755 });
  try {
    process.env.PATH = `${programs}:${PATH}`;
    await changesBetween(repository, from, to, new AbortController().signal);
    expect(readFileSync(seen, 'utf8').trim()).toBe(String(1024 ** 2));
  } finally {
    process.env.PATH = PATH;
    rmSync(programs, { recursive: true });
  }
});
