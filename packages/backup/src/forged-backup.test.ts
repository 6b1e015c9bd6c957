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

/** A backup of an empty table, with right checksums. @param migrations that its release had */
async function forge(
  entries: readonly Forged[],
  { format = 2, migrations = migrationHashes() } = {},
): Promise<Buffer> {
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
    migrations,
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
    const below: readonly Forged[] = [
      { name: 'kept', text: 'x' },
      { name: 'new', type: 'directory' },
      { name: 'other', type: 'symlink', linkname: '/etc' },
    ];
    const entries = below.flatMap<Forged>((entry) => {
      const link = `homes/${entry.name}`;
      return [
        { name: link, type: 'symlink', linkname: place('outside') },
        { ...entry, name: `${link}/${entry.name}` },
      ];
    });
    const { homes } = await restore(await forge(entries));
    for (const { name } of below) {
      expect((await lstat(path.join(homes, name))).isDirectory()).toBe(true);
      expect(await readdir(path.join(homes, name))).toEqual([name]);
    }
    expect(await readdir(place('outside'))).toEqual(['kept']);
    expect(await readFile(place('outside/kept'), 'utf8')).toBe('as it was');
  });

  it('without encryption, of the former format, too, is refused where there is a key, unless it is said to be expected', async () => {
    const keyed = { vault: new Vault(Buffer.alloc(32, 7)) };
    const file = await forge([{ name: 'homes/a/log', text: 'Calm.' }], { format: 1 });
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
    // Of an early release: few migrations come before what it is about.
    const migrations = migrationHashes().slice(0, 2);
    const [one, other] = ['Calm.', 'Storm.'].map(async (text) =>
      forge([{ name: 'homes/a/log', text }], { migrations }),
    );
    const before = await readdir(folder, { recursive: true });
    await expect(restore(await one!, { vault: plain }, await other)).rejects.toMatchObject({
      kind: 'invalid',
      message: 'this is not the backup that was verified',
    });
    expect(await readdir(folder, { recursive: true })).toEqual(before);
  });

  it('of a later format is not restored', async () => {
    const file = { name: 'homes/a/log', text: 'Calm.' };
    await expect(restore(await forge([file], { format: 3 }))).rejects.toThrow('format');
  });
});
