/** Files that no release has made: whoever can write to the store of backups without the key may have put them there. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createZstdCompress } from 'node:zlib';
import { migrationHashes } from '@acp/db';
import { newId, Vault } from '@acp/kernel';
import { LocalStorage } from '@acp/storage';
import { emptyDatabase } from '@acp/testkit';
import { type Pack, pack } from 'tar-stream';
import { type BackupKeys, frameWriter } from './frames.ts';
import { restoreBackup } from './index.ts';

const plain = new Vault(null);
let folder: string;

const place = (...names: string[]) => path.join(folder, ...names);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'forged-backup-'));
  await mkdir(place('outside'));
  await writeFile(place('outside/kept'), 'as it was');
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

type Forged = Parameters<Pack['entry']>[0] & { text?: string };

/** A backup of an empty table, with right checksums. */
async function forge(entries: readonly Forged[], format = 2): Promise<Buffer> {
  const id = newId();
  const { first_line, frames } = frameWriter(id, plain);
  const archive = pack();
  const files = entries.filter(({ type = 'file' }) => type === 'file');
  const json = (name: string, value: object) => archive.entry({ name }, JSON.stringify(value));
  const sums = files.map(({ name, text = '' }) => `${name}\0${sha256(text)}\n`);
  json('backup.json', {
    format,
    id,
    created_at: new Date(),
    version: '1.0.0',
    migrations: migrationHashes(),
    encryption_keys: [],
  });
  for (const { text = '', ...header } of entries) archive.entry(header, text);
  json('end.json', {
    tables: [{ name: 'instance_settings', columns: ['key', 'value'], bytes: 0, sha256: sha256('') }],
    sequences: [],
    files: files.length,
    file_bytes: files.reduce((sum, { text = '' }) => sum + text.length, 0),
    files_sha256: sha256(sums.join('')),
    left_out: [],
  });
  archive.finalize();
  const file = (archive as unknown as Readable).pipe(createZstdCompress()).pipe(frames);
  return Buffer.concat([first_line, await buffer(file.pipe(new PassThrough()))]);
}

/** @param changed what the store gives when it is asked again */
async function restore(
  file: Buffer,
  keys: BackupKeys = { vault: plain },
  changed = file,
): Promise<{ homes: string; storage: string }> {
  const target = await emptyDatabase(`forged_${newId().slice(0, 8)}`);
  const into = place(newId());
  const [homes, storage] = [path.join(into, 'homes'), path.join(into, 'storage')];
  const given = [file, file, changed];
  await restoreBackup(async () => Readable.from([given.shift()!]), {
    database_url: target.url,
    storage: new LocalStorage(storage),
    homes,
    into_homes: 'empty',
    backups: { store: new LocalStorage(place('backups')), prefix: '' },
    ...keys,
  });
  return { homes, storage };
}

describe('a forged backup', () => {
  it.each<[string, Forged, RegExp]>([
    ['a file above the homes', { name: 'homes/../../outside/kept', text: 'x' }, /leads outside/],
    ['an object above the storage', { name: 'storage/../outside/kept', text: 'x' }, /leads outside/],
    ['a folder above the homes', { name: 'homes/../outside/new', type: 'directory' }, /leads outside/],
    [
      'a link in place of the homes',
      { name: 'homes/..', type: 'symlink', linkname: '/etc' },
      /leads outside/,
    ],
    [
      'a link in the storage',
      { name: 'storage/logos/a', type: 'symlink', linkname: '/etc' },
      /unknown entry/,
    ],
    ['a hard link', { name: 'homes/a', type: 'link', linkname: '/etc/passwd' }, /unknown entry/],
    ['a device', { name: 'homes/a', type: 'character-device' }, /unknown entry/],
    ['an absolute path', { name: '/etc/cron.d/a', text: 'x' }, /unknown entry/],
    ['a table that is not announced', { name: 'database/users/1', text: 'x' }, /damaged/],
  ])('with %s is refused before anything is changed', async (_, entry, message) => {
    const before = await readdir(folder, { recursive: true });
    await expect(restore(await forge([entry, { name: 'homes/log', text: 'x' }]))).rejects.toThrow(message);
    expect(await readdir(folder, { recursive: true })).toEqual(before);
    expect(await readFile(place('outside/kept'), 'utf8')).toBe('as it was');
  });

  it('with files and folders below a link writes neither where it leads', async () => {
    const link = { name: 'homes/link', type: 'symlink', linkname: place('outside') } as const;
    for (const entry of [
      { name: 'homes/link/kept', text: 'x' },
      { name: 'homes/link/new', type: 'directory' },
      { name: 'homes/link/other', type: 'symlink', linkname: '/etc' },
    ] as const) {
      const { homes } = await restore(await forge([link, entry]));
      expect((await lstat(path.join(homes, 'link'))).isDirectory()).toBe(true);
      expect(await readdir(place('outside'))).toEqual(['kept']);
    }
    expect(await readFile(place('outside/kept'), 'utf8')).toBe('as it was');
  });

  it('without encryption is refused by an instance that has a key, unless it is said to be expected', async () => {
    const keyed = { vault: new Vault(Buffer.alloc(32, 7)) };
    const file = await forge([{ name: 'homes/a/log', text: 'Calm.' }]);
    const before = await readdir(folder, { recursive: true });
    await expect(restore(file, keyed)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('not encrypted'),
    });
    expect(await readdir(folder, { recursive: true })).toEqual(before);
    const { homes } = await restore(file, { ...keyed, accept_unsealed: true });
    expect(await readFile(path.join(homes, 'a/log'), 'utf8')).toBe('Calm.');
  });

  it('in whose place the store gives another one once it was verified is not restored, nor is that one', async () => {
    const [one, other] = ['Calm.', 'Storm.'].map(async (text) => forge([{ name: 'homes/a/log', text }]));
    const before = await readdir(folder, { recursive: true });
    await expect(restore(await one!, { vault: plain }, await other)).rejects.toMatchObject({
      kind: 'invalid',
      message: 'this is not the backup that was verified',
    });
    expect(await readdir(folder, { recursive: true })).toEqual(before);
  });

  it('of the former format is restored, and one of a later format is not', async () => {
    const file = { name: 'homes/a/log', text: 'Calm.' };
    const { homes } = await restore(await forge([file], 1));
    expect(await readFile(path.join(homes, 'a/log'), 'utf8')).toBe('Calm.');
    await expect(restore(await forge([file], 3))).rejects.toThrow('format');
  });
});
