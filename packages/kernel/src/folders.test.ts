import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInsideFolder, makeFolders } from './folders.ts';

describe('isInsideFolder', () => {
  let base: string;
  let home: string;

  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'folders-'));
    home = join(base, 'home');
    await mkdir(join(home, 'inner'), { recursive: true });
    await mkdir(join(base, 'outside'));
    await symlink(join(base, 'outside'), join(home, 'way-out'));
    await symlink(join(base, 'nowhere'), join(home, 'broken'));
    await symlink(join(home, 'circle'), join(home, 'circle'));
    await symlink(home, join(base, 'alias'));
  });
  afterAll(async () => rm(base, { recursive: true }));

  it.each([
    ['the folder itself', '.', true],
    ['an existing subfolder', 'inner', true],
    ['a subfolder that does not exist yet', 'inner/new/deep', true],
    ['a name that begins with two dots', '..name', true],
    ['a path that climbs out', '../outside', false],
    ['a sibling whose name begins alike', '../home-two', false],
    ['a link that leads out', 'way-out', false],
    ['something new behind a link that leads out', 'way-out/new', false],
    ['a broken link', 'broken', false],
    ['a link in a circle', 'circle/x', false],
    ['a path with a NUL', 'in\0ner', false],
  ])('answers for %s', async (_what, path, expected) => {
    expect(await isInsideFolder(join(home, path), [home])).toBe(expected);
  });

  it('answers the same while somebody else makes the folders', async () => {
    for (let n = 0; n < 200; n += 1) {
      const root = join(base, `made-${n}`);
      const deep = join(root, 'companies/one/agents/two');
      const looks = Array.from({ length: 4 }, async () =>
        isInsideFolder(deep, [join(root, 'companies/one')]),
      );
      await mkdir(deep, { recursive: true });
      expect(await Promise.all(looks)).toEqual([true, true, true, true]);
    }
  });

  it('follows links in the folder too, and takes any of several folders', async () => {
    expect(await isInsideFolder(join(home, 'inner'), [join(base, 'alias')])).toBe(true);
    expect(await isInsideFolder(join(base, 'outside'), [home, join(base, 'outside')])).toBe(true);
    expect(await isInsideFolder(join(base, 'outside'), [])).toBe(false);
  });
});

describe('makeFolders', () => {
  let base: string;

  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'folders-'));
  });
  afterAll(async () => rm(base, { recursive: true }));

  it('creates a folder and its parents, several callers at once, and says which was the first', async () => {
    const deep = join(base, 'one/two/three');
    expect(await makeFolders(deep, 0o700)).toBe(join(base, 'one'));
    expect(await makeFolders(deep, 0o700)).toBeUndefined();
    expect((await stat(deep)).mode % 0o1000).toBe(0o700);
    const same = Array.from({ length: 8 }, async () => makeFolders(join(base, 'four/five/six')));
    await Promise.all(same);
    await symlink(deep, join(base, 'link'));
    expect(await makeFolders(join(base, 'link'))).toBeUndefined();
    expect(await makeFolders(join(base, 'link/four'))).toBe(join(base, 'link/four'));
  });

  it('fails where there is a file, and where the system has no room for folders', async () => {
    await writeFile(join(base, 'file'), '');
    await expect(makeFolders(join(base, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeFolders(join(base, 'file/below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
    await expect(makeFolders('/proc/nothing/below')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
