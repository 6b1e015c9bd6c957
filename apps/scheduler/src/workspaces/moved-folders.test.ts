/** Folders whose home was moved, or restored from a backup at another place. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { findProgram, newId } from '@acp/kernel';
import { fillTree, initTree } from './spare-folders.ts';
import { checkOut, pointToObjects, type WorkspaceFolder } from './workspace-folder.ts';

const withGit: typeof describe.skip = findProgram('git') === undefined ? describe.skip : describe;
const run = promisify(execFile);
const { signal } = new AbortController();

let folder: string;
let home: string;
let base: string;

const shell = async (cwd: string, script: string): Promise<string> => {
  const who = { GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.com' };
  const env = { ...who, GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.com' };
  const all = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', ...env };
  return (await run('bash', ['-euc', script], { cwd, env: all })).stdout.trim();
};
const repositoryIn = (place: string) => path.join(place, 'copy.git');
const issueIn = (place: string): WorkspaceFolder => ({
  folder: path.join(place, 'issue'),
  tree: path.join(place, 'issue/tree'),
});

withGit('a folder of an issue', () => {
  beforeAll(async () => {
    folder = await mkdtemp('/var/tmp/moved-folders-');
  });
  afterAll(async () => rm(folder, { recursive: true, force: true }));
  beforeEach(async () => {
    home = path.join(folder, newId());
    await mkdir(home);
    base = await shell(
      home,
      `git init -q --bare copy.git; git init -q work; cd work; echo one > a.txt; git add -A; git commit -qm Beginning
     git push -q ../copy.git HEAD:refs/remotes/origin/main; git rev-parse HEAD`,
    );
  });

  async function move(): Promise<void> {
    const to = path.join(folder, newId());
    await rename(home, to);
    home = to;
  }

  async function begin(): Promise<WorkspaceFolder> {
    const of = { repository: repositoryIn(home), branch: 'T-1', base: { branch: 'main', commit: base } };
    const checkout = { ...of, head: base, work: base, repo_url: 'https://x.example/y', identifier: 'T-1' };
    await checkOut(issueIn(home), checkout, signal);
    return issueIn(home);
  }

  it('finds the commits it depends on after its home was moved', async () => {
    await begin();
    await move();
    const place = issueIn(home);
    await expect(shell(place.tree, 'git log')).rejects.toThrow('unable to normalize alternate object path');
    await pointToObjects(place, repositoryIn(home));
    expect(await shell(place.tree, 'git log --format=%s; git status --short')).toBe('Beginning');
  });

  it('that was made ahead serves after its home was restored, even without its empty folders', async () => {
    const ahead = `${repositoryIn(home)}.spare-${base}`;
    await mkdir(ahead);
    await initTree(ahead, repositoryIn(home), signal);
    await fillTree(ahead, base, signal);
    await move();
    await rm(`${repositoryIn(home)}.spare-${base}/.git/refs`, { recursive: true });
    const { tree } = await begin();
    expect(await shell(tree, 'git log --format=%s; git status --short')).toBe('Beginning');
  });

  it('keeps what an agent has put in place of the file, or removed, and writes nothing where it leads', async () => {
    const { tree } = await begin();
    const objects = repositoryIn(home);
    const outside = path.join(home, 'outside');
    for (const [script, file] of [
      ['rm .git/objects/info/alternates', null],
      ['mkfifo .git/objects/info/alternates', null],
      [`rm .git/objects/info/alternates; mkdir -p ${outside}; echo kept > ${outside}/alternates`, 'kept\n'],
      [`rmdir .git/objects/info; ln -s ${outside} .git/objects/info`, 'kept\n'],
      ['mv .git elsewhere; ln -s elsewhere .git', 'kept\n'],
      ['rm .git; echo "gitdir: elsewhere" > .git', 'kept\n'],
    ] as const) {
      await shell(tree, script);
      await pointToObjects(issueIn(home), objects);
      const found = await readFile(path.join(outside, 'alternates'), 'utf8').catch(() => null);
      expect([script, found]).toEqual([script, file]);
    }
  });
});
