import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalStorage } from './index.ts';

let folder: string;
let store: LocalStorage;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acp-local-'));
  store = new LocalStorage(join(folder, 'storage'));
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

async function* of(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
const put = (key: string, text = 'x') => store.put(key, of(text), { max_bytes: 1000 });

describe('the folder store', () => {
  it('leaves room on its disk for the database, while what it has can be read and deleted', async () => {
    await put('a/b');
    const full = new LocalStorage(join(folder, 'storage'), { min_free: 2 ** 60 });
    await expect(full.put('a/c', of('x'), { max_bytes: 10 })).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the disk of the storage is nearly full',
    });
    expect(await readdir(join(folder, 'storage/tmp'))).toEqual([]);
    expect([await full.exists('a/b'), await full.exists('a/c')]).toEqual([true, false]);
    await full.delete('a/b');
    expect(await full.exists('a/b')).toBe(false);
  });

  it('follows no link that someone laid in the place of an object', async () => {
    await writeFile(join(folder, 'secret'), 'secret');
    await mkdir(join(folder, 'storage/objects/a'), { recursive: true });
    await symlink(join(folder, 'secret'), join(folder, 'storage/objects/a/link'));
    expect(await store.get('a/link')).toBeUndefined();
    for await (const object of store.list('a/')) throw new Error(`listed: ${object.key}`);
    // A put replaces the link itself, not its target.
    await put('a/link', 'mine');
    expect(await readFile(join(folder, 'secret'), 'utf8')).toBe('secret');
  });

  it('a file where a folder should be, or the other way round: conflict', async () => {
    await put('a/b');
    await expect(put('a/b/c')).rejects.toMatchObject({ kind: 'conflict' });
    await expect(put('a')).rejects.toMatchObject({ kind: 'conflict' });
    expect(await store.get('a')).toBeUndefined();
  });

  it('the last object of a folder goes: a file may take the folder’s name', async () => {
    await put('a/b/c');
    await store.delete('a/b/c');
    await put('a');
    expect(await store.exists('a')).toBe(true);
  });

  it('a process died while it wrote: only what is old enough is removed, and no object', async () => {
    await put('a/b');
    const tmp = join(folder, 'storage/tmp');
    await writeFile(join(tmp, 'dead'), 'half');
    await utimes(join(tmp, 'dead'), 1000, 1000);
    await writeFile(join(tmp, 'alive'), 'half');
    await store.removeLeftovers(new Date(2_000_000));
    expect(await readdir(tmp)).toEqual(['alive']);
    expect(await store.exists('a/b')).toBe(true);
  });

  it('a full or unwritable disk: unavailable', async () => {
    await writeFile(join(folder, 'storage'), 'a file');
    await expect(put('a')).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(store.markerId()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('processes that start together agree on the marker, and find it again', async () => {
    const others = Array.from({ length: 8 }, () => new LocalStorage(join(folder, 'storage')));
    const ids = new Set(await Promise.all(others.map(async (each) => each.markerId())));
    expect(ids.size).toBe(1);
    expect(await store.markerId()).toBe([...ids][0]);
    expect(await readdir(join(folder, 'storage'))).toEqual(['marker']);
  });
});
