/** Archives that their frames and their compression let through: nothing but the checksums at their end speaks for them. */
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createZstdCompress } from 'node:zlib';
import { newId, unavailable, Vault } from '@acp/kernel';
import { type Pack, pack } from 'tar-stream';
import { frameWriter } from './frames.ts';
import { readArchive } from './read-archive.ts';
import { verifyBackup } from './verify-backup.ts';

const keys = { vault: new Vault(null) };
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** @param add the entries between the beginning and the end @param table the only one, and its rows */
async function archiveOf(add: (archive: Pack) => void, table: string, rows: string): Promise<Buffer> {
  const archive = pack();
  const json = (name: string, value: object) => archive.entry({ name }, JSON.stringify(value));
  const [id, created_at] = [newId(), new Date()];
  json('backup.json', { format: 2, id, created_at, version: '1.0.0', migrations: [], encryption_keys: [] });
  add(archive);
  archive.entry({ name: `homes/${'name'.repeat(50)}` }, 'text');
  json('end.json', {
    tables: [{ name: table, columns: ['id', 'storage_key'], bytes: rows.length, sha256: sha256(rows) }],
    sequences: [],
    files: 1,
    file_bytes: 4,
    files_sha256: sha256(`homes/${'name'.repeat(50)}\0${sha256('text')}\n`),
    left_out: [],
  });
  archive.finalize();
  return buffer((archive as unknown as Readable).pipe(new PassThrough()));
}

async function backupOf(archive: Buffer): Promise<Buffer> {
  const { first_line, frames } = frameWriter(newId(), keys.vault);
  const framed = Readable.from([archive]).pipe(createZstdCompress()).pipe(frames);
  return Buffer.concat([first_line, await buffer(framed.pipe(new PassThrough()))]);
}

const users = async () =>
  archiveOf((archive) => archive.entry({ name: 'database/users/1' }, '1\tk\n'), 'users', '1\tk\n');

describe('an archive', () => {
  it('of which any byte is another, or that ends anywhere, is none, in words', async () => {
    const archive = await users();
    const read = async (bytes: Buffer) =>
      readArchive(Readable.from([await backupOf(bytes)]), keys).then(
        () => 'fine',
        ({ kind, message }: { kind?: string; message: string }) => kind ?? message,
      );
    expect(await read(archive)).toBe('fine');
    const outcomes = new Set<string>();
    for (let at = 0; at < archive.length; at += 5) {
      const other = Buffer.from(archive);
      other[at]! ^= 1;
      outcomes.add(await read(other));
      if (at % 100 === 0) outcomes.add(await read(archive.subarray(0, at)));
    }
    // Some bytes fill up a block.
    expect([...outcomes].toSorted()).toEqual(['fine', 'invalid']);
  });

  it('that its store does not give to the end is not called damaged', async () => {
    const bytes = await backupOf(await users());
    const down = unavailable('storage unavailable');
    async function* half(): AsyncGenerator<Buffer> {
      yield await Promise.resolve(bytes.subarray(0, -20));
      throw down;
    }
    await expect(readArchive(Readable.from(half()), keys)).rejects.toBe(down);
  });

  it('of more tables than there can be is given up', async () => {
    const many = (archive: Pack) => {
      for (let n = 0; n < 3000; n += 1) archive.entry({ name: `database/table_${n}/1` }, '');
    };
    const seen = new Set<string | null>();
    const visitor = { rows: async (table: string | null) => void seen.add(table) };
    const bytes = await backupOf(await archiveOf(many, 'table_0', ''));
    await expect(readArchive(Readable.from([bytes]), keys, visitor)).rejects.toThrow('damaged');
    expect(seen.size).toBe(1000);
  });

  it('with a row that has no end is given up', async () => {
    const piece = 'x'.repeat(1024 * 1024);
    const endless = (archive: Pack) => {
      for (let n = 0; n < 40; n += 1) archive.entry({ name: `database/attachments/${n}` }, piece);
    };
    const bytes = await backupOf(await archiveOf(endless, 'attachments', piece.repeat(40)));
    await expect(verifyBackup(async () => Readable.from([bytes]), keys)).rejects.toThrow(
      'the backup is damaged: a row has no end',
    );
  });
});
