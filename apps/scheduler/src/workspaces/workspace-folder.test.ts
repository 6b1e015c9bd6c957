import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { findProgram, newId } from '@acp/kernel';
import { ownHistory, readState, type WorkspaceFolder, writeState } from './workspace-folder.ts';

const withGit: typeof describe.skip = findProgram('git') === undefined ? describe.skip : describe;
const run = promisify(execFile);
const { signal } = new AbortController();

let top: string;

beforeAll(async () => {
  top = await mkdtemp('/var/tmp/workspace-folder-');
});
afterAll(async () => rm(top, { recursive: true, force: true }));

async function placeOfIssue(): Promise<WorkspaceFolder> {
  const folder = path.join(top, newId());
  const place = { folder, tree: path.join(folder, 'tree') };
  await mkdir(place.tree, { recursive: true });
  return place;
}

describe('what is known of a folder', () => {
  it('is what was written last', async () => {
    const place = await placeOfIssue();
    const state = { workspace_id: newId(), version: 3, setup_hash: 'abc' };
    await writeState(place, state);
    expect(await readState(place)).toEqual(state);
  });

  it.each(['', '{"workspace_id":"', 'null', '3', '{"version":1}'])(
    'is nothing after a power cut or a full disk has left %j of it',
    async (text) => {
      const place = await placeOfIssue();
      await writeFile(path.join(place.folder, 'state.json'), text);
      expect(await readState(place)).toBeUndefined();
    },
  );
});

withGit('the history of a folder without a repository', () => {
  const git = async (cwd: string, ...args: string[]) =>
    (await run('git', args, { cwd, env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null' } })).stdout;

  async function commitIn(history: string, message: string): Promise<string> {
    const who = { GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.com' };
    const env = { ...who, GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.com' };
    const script = `tree=$(git mktree < /dev/null); git commit-tree "$tree" -m "${message}"`;
    const all = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', ...env };
    return (await run('bash', ['-euc', script], { cwd: history, env: all })).stdout.trim();
  }

  it('is written to again after a git that held its locks was killed', async () => {
    const place = await placeOfIssue();
    const history = await ownHistory(place, signal);
    const commit = await commitIn(history, 'One');
    const ref = 'refs/service/one/work';
    await mkdir(path.join(history, path.dirname(ref)), { recursive: true });
    const left = [`${ref}.lock`, 'packed-refs.lock', 'bundle-half', 'objects/pack/tmp_pack_half'];
    for (const name of left) {
      await writeFile(path.join(history, name), '');
      await utimes(path.join(history, name), 0, 0);
    }
    await expect(git(history, 'update-ref', ref, commit)).rejects.toThrow('File exists');
    await ownHistory(place, signal);
    await git(history, 'update-ref', ref, commit);
    const found = await readdir(history, { recursive: true });
    expect(left.filter((name) => found.includes(name))).toEqual([]);
  });

  it('is merged into one pack once runs have left many', async () => {
    const place = await placeOfIssue();
    const history = await ownHistory(place, signal);
    const packs = async () =>
      (await readdir(path.join(history, 'objects/pack'))).filter((name) => name.endsWith('.pack')).length;
    for (let count = 0; count < 40; count += 1) {
      const commit = await commitIn(history, `Run ${count}`);
      await git(history, 'update-ref', `refs/service/one/run-${count}`, commit);
      await git(history, 'repack', '-d', '-q');
    }
    expect(await packs()).toBe(40);
    await ownHistory(place, signal);
    expect(await packs()).toBe(1);
    expect((await git(history, 'for-each-ref', '--format=%(subject)')).trim().split('\n')).toHaveLength(40);
  });
});
