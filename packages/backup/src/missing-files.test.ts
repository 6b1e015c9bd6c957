/** Files that rows name, and that a backup does not contain. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { listBackups, recentNotifications } from '@acp/core';
import { newId, Vault } from '@acp/kernel';
import { LocalStorage } from '@acp/storage';
import { cloneDatabase, createCompany, createIssue, type TestDatabase, testLogger } from '@acp/testkit';
import { backUpInstance, verifyBackup } from './index.ts';

const vault = new Vault(Buffer.alloc(32, 7));
let folder: string;
let kit: TestDatabase;
let company: { id: string };
let issue: { id: string };

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'missing-files-'));
  kit = await cloneDatabase('missing_files');
  company = await createCompany(kit.database.db);
  issue = await createIssue(kit.database.db, company);
});
afterAll(async () => {
  await kit.close();
  await rm(folder, { recursive: true, force: true });
});

let place: string;
let storage: LocalStorage;
beforeEach(async () => {
  await kit.database.pool.query('delete from backups');
  await kit.database.pool.query('delete from attachments');
  await kit.database.pool.query('delete from assets');
  place = path.join(folder, newId());
  storage = new LocalStorage(place);
});

async function attach(key: string): Promise<void> {
  await storage.put(key, Readable.from([Buffer.from(key)]), { max_bytes: 1000 });
  await kit.database.pool.query(
    `insert into attachments (company_id, issue_id, filename, content_type, size_bytes, storage_key, sha256)
     values ($1, $2, $3, 'text/plain', 10, $4, '')`,
    // What looks like a row of its own is none.
    [company.id, issue.id, `a\tb\n${key}\\`, key],
  );
}

async function detach(key: string): Promise<void> {
  await kit.database.pool.query('delete from attachments where storage_key = $1', [key]);
  await storage.delete(key);
}

async function addLogo(key: string): Promise<void> {
  await kit.database.pool.query(
    `insert into assets (company_id, filename, content_type, size_bytes, storage_key) values ($1, 'logo', 'image/png', 1, $2)`,
    [company.id, key],
  );
}

const backups = () => ({ store: new LocalStorage(path.join(folder, 'backups')), prefix: '' });

async function backUp() {
  const { database, url: direct_url } = kit;
  const config = { home: path.join(folder, 'home'), backup_retention_days: 30 };
  const parts = { config, database, direct_url, storage, vault, logger: testLogger(), backups: backups() };
  return backUpInstance(parts, { trigger: 'operator', claimed_by: 'test' }, AbortSignal.timeout(60_000));
}

const verify = async (file: string, tell?: Parameters<typeof verifyBackup>[2]) =>
  verifyBackup(
    async () => (await backups().store.get(file)) ?? Promise.reject(new Error('gone')),
    { vault },
    tell,
  );

type Listed = ReturnType<LocalStorage['list']>;

/** Has the store list others, or after something else. */
function listing(change: (list: () => Listed) => Listed): void {
  const as_it_is = new LocalStorage(place);
  storage.list = () => change(() => as_it_is.list(''));
}

const complaints = async () =>
  (await recentNotifications(kit.database.db, 60)).filter(({ message }) => message.includes('lacks files'));

describe('a backup of rows that name files', () => {
  it('that are all there lacks none, whatever else is in the storage', async () => {
    for (const key of ['attachments/a/one', 'attachments/a/two']) await attach(key);
    await storage.put('logos/of-nobody', Readable.from([]), { max_bytes: 1 });
    const { lost, trailer, file } = await backUp();
    expect({ lost, left_out: trailer.left_out }).toEqual({ lost: { count: 0, named: [] }, left_out: [] });
    expect((await verify(file)).missing).toEqual({ count: 0, named: [] });
    expect(await listBackups(kit.database.db)).toMatchObject([{ status: 'succeeded', error: null }]);
  });

  it('says which the store has lost, and tells of them once', async () => {
    for (const key of ['attachments/a/one', 'attachments/a/two']) await attach(key);
    await storage.delete('attachments/a/two');
    for (let n = 0; n < 12; n += 1) await addLogo(`assets/b/${n}`);
    const { lost, trailer, file } = await backUp();
    expect(lost.count).toBe(13);
    expect(lost.named).toHaveLength(10);
    expect(trailer.files).toBe(1);
    expect(trailer.left_out).toContainEqual({
      path: 'storage/assets/b/0',
      reason: 'a row of assets names it, but the store lost it',
    });
    expect(trailer.left_out.at(-1)).toEqual({ path: 'storage', reason: '3 more files were lost likewise' });
    const [row] = await listBackups(kit.database.db);
    expect(row).toMatchObject({
      status: 'succeeded',
      error: expect.stringMatching(
        /^rows name files that the store does not have \(13\): assets\/b\/0 \(assets\), .*, and 3 more$/,
      ),
    });
    const all: string[] = [];
    const { missing } = await verify(file, async (some) => {
      all.push(...some.map(({ table, key }) => `${table} ${key}`));
      return Promise.resolve();
    });
    expect(missing.count).toBe(13);
    expect(all.toSorted()).toEqual(
      [
        ...Array.from({ length: 12 }, (_, n) => `assets assets/b/${n}`),
        'attachments attachments/a/two',
      ].toSorted(),
    );
    expect(await complaints()).toMatchObject([
      { level: 'error', message: `a backup lacks files: ${row!.error}` },
    ]);
    await backUp();
    expect(await complaints()).toHaveLength(1);
  });

  it('takes none for lost that is deleted meanwhile, and has its check say that they are not in it', async () => {
    for (const key of ['attachments/a/kept', 'attachments/a/early', 'attachments/a/late']) await attach(key);
    listing(async function* deleting(list) {
      await detach('attachments/a/early');
      for await (const each of list()) {
        if (each.key === 'attachments/a/late') await detach(each.key);
        yield each;
      }
    });
    const { lost, trailer, file } = await backUp();
    expect({ lost, left_out: trailer.left_out }).toEqual({ lost: { count: 0, named: [] }, left_out: [] });
    expect(trailer.files).toBe(1);
    const { missing } = await verify(file);
    expect(missing.count).toBe(2);
    expect(missing.named.toSorted((a, b) => (a.key < b.key ? -1 : 1))).toEqual([
      { table: 'attachments', key: 'attachments/a/early' },
      { table: 'attachments', key: 'attachments/a/late' },
    ]);
    expect(await listBackups(kit.database.db)).toMatchObject([{ status: 'succeeded', error: null }]);
  });

  it('takes none for lost that is stored only after the snapshot', async () => {
    await attach('attachments/a/one');
    listing(async function* adding(list) {
      for await (const each of list()) yield each;
      await attach('attachments/a/later');
    });
    const { lost, file } = await backUp();
    expect(lost.count).toBe(0);
    expect((await verify(file)).missing.count).toBe(0);
  });

  it.each([
    ['', 0],
    [', and has lost others', 12],
  ])('fails if the store lists less than it has%s', async (_, lost) => {
    for (let n = 0; n < lost; n += 1) await addLogo(`assets/b/${n}`);
    for (const key of ['attachments/a/one', 'attachments/a/two']) await attach(key);
    listing(async function* cutShort(list) {
      for await (const each of list()) if (each.key !== 'attachments/a/two') yield each;
    });
    const why = "the store's list of objects is not whole: attachments/a/two is missing from it";
    await expect(backUp()).rejects.toThrow(why);
    expect(await listBackups(kit.database.db)).toMatchObject([{ status: 'failed', file: null, error: why }]);
  });
});
