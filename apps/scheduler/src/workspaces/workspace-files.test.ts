import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ProgramSpec } from '@acp/adapters';
import { HeldFolder } from '../programs/held-folder.ts';
import { filesFor } from './program-in.ts';
import type { RunWorkspace } from './run-workspace.ts';
import { workspaceFiles } from './workspace-files.ts';

let folder: string;
let tree: string;
let held: HeldFolder;

beforeAll(async () => {
  folder = await mkdtemp('/var/tmp/workspace-files-');
  tree = path.join(folder, 'tree');
  await mkdir(path.join(tree, 'src/deep'), { recursive: true });
  await writeFile(path.join(folder, 'theirs'), 'theirs');
  await symlink(folder, path.join(tree, 'out'));
  await symlink('../theirs', path.join(tree, 'link'));
  await symlink('src', path.join(tree, 'alias'));
  await writeFile(path.join(tree, 'file'), 'before');
  held = await HeldFolder.open(tree);
});
afterAll(async () => {
  await held.close();
  await rm(folder, { recursive: true, force: true });
});

const write = async (at: string) => workspaceFiles(held).write(at, Buffer.from('x\n'));

describe('a file written into a workspace', () => {
  it('lies there, in folders that are made, in place of the one before, for everybody to read', async () => {
    for (const at of ['new.md', 'a/b/c.md', 'src/d.md', 'file', 'file']) {
      await write(at);
      expect(await readFile(path.join(tree, at), 'utf8')).toBe('x\n');
      expect((await stat(path.join(tree, at))).mode & 0o777).toBe(0o644);
    }
  });

  it.each([
    ['out/theirs', 'out in the workspace is not a folder'],
    ['link', 'link in the workspace is not a file'],
    ['alias/e.md', 'alias in the workspace is not a folder'],
    ['src', 'src in the workspace is not a file'],
    ['file/x', 'file in the workspace is not a folder'],
  ])('%s is refused: what lies in the way stays', async (at, reason) => {
    await expect(write(at)).rejects.toThrow(reason);
    expect(await readFile(path.join(folder, 'theirs'), 'utf8')).toBe('theirs');
    expect(await readlink(path.join(tree, 'link'))).toBe('../theirs');
    expect(await readdir(path.join(tree, 'src'))).toContain('deep');
  });
});

it.each([
  ['cli_a_local', { permissions: 'read' }, false],
  ['cli_a_local', { permissions: 'edit' }, true],
  ['cli_b_local', {}, true],
  ['docker', { permissions: 'read' }, true],
])('an agent of %s with %j may have files written there: %s', (adapter_type, adapter_config, may) => {
  const program: ProgramSpec = {
    command: [],
    home: '/h',
    cwd: '/h',
    env: {},
    timeout_sec: 1,
    session: null,
    container: null,
  };
  const files = filesFor({ adapter_type, adapter_config, program }, { held } as RunWorkspace);
  expect(files !== null).toBe(may);
});
