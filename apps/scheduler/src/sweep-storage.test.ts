/** Rows and bytes are consistent again after a crash between any two steps. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  claimOrphans,
  createAttachments,
  deleteAttachment,
  claimUnusedKeys,
  findAttachment,
  findIssue,
  keepStorageKeys,
  reserveStorageKeys,
} from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { LocalStorage } from '@acp/storage';
import { actors, createCompany, createIssue, databaseWithQueue } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sweepStorage } from './sweep-storage.ts';

const { attachments, storage_orphans } = schema;

let folder: string;
let storage: LocalStorage;
let database: Database;
let issue: NonNullable<Awaited<ReturnType<typeof findIssue>>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acp-sweep-'));
  storage = new LocalStorage(folder);
  database = await databaseWithQueue();
});
afterAll(async () => rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  const company = await createCompany(database.db);
  issue = (await findIssue(database.db, (await createIssue(database.db, company)).id))!;
});

const newKey = () => `attachments/${issue.company_id}/${newId()}`;
const write = async (key: string) =>
  storage.put(key, new Blob(['bytes']).stream() as AsyncIterable<Uint8Array>, { max_bytes: 10 });
const sweep = async () => sweepStorage(database, storage, new AbortController().signal);
const row = async (key: string) => {
  const [found] = await database.db
    .select()
    .from(storage_orphans)
    .where(eq(storage_orphans.storage_key, key));
  return found;
};

/** Moves everything about the key into the past. */
async function later(key: string, minutes: number): Promise<void> {
  await database.db
    .update(storage_orphans)
    .set({
      created_at: sql`created_at - make_interval(mins => ${minutes}::int)`,
      doomed_at: sql`doomed_at - make_interval(mins => ${minutes}::int)`,
    })
    .where(eq(storage_orphans.storage_key, key));
}

async function attach(): Promise<string> {
  const key = newKey();
  await reserveStorageKeys(database.db, [key]);
  const stored = { filename: 'a.bin', content_type: 'a/b', storage_key: key, ...(await write(key)) };
  await transaction(database, (tx) => createAttachments(tx, actors.system, issue, [stored]));
  return key;
}

describe('a crash', () => {
  it('before the first byte: the reservation goes', async () => {
    const key = newKey();
    await reserveStorageKeys(database.db, [key]);
    await later(key, 61);
    await sweep();
    expect(await row(key)).toBeUndefined();
  });

  it('between the bytes and the row: the bytes go, but not while the upload may still be under way', async () => {
    const key = newKey();
    await reserveStorageKeys(database.db, [key]);
    await write(key);
    await later(key, 59);
    await sweep();
    expect(await storage.exists(key)).toBe(true);
    await later(key, 2);
    await sweep();
    expect([await storage.exists(key), await row(key)]).toEqual([false, undefined]);
  });

  it('in the transaction of the row: as if it had never begun', async () => {
    const key = newKey();
    await reserveStorageKeys(database.db, [key]);
    await write(key);
    const dying = transaction(database, async (tx) => {
      await keepStorageKeys(tx, [key]);
      throw new Error('power cut');
    });
    await expect(dying).rejects.toThrow('power cut');
    await later(key, 61);
    await sweep();
    expect(await storage.exists(key)).toBe(false);
  });

  it('after the row: the bytes stay for ever', async () => {
    const key = await attach();
    expect(await row(key)).toBeUndefined();
    await sweep();
    expect(await storage.exists(key)).toBe(true);
  });

  it('between the deletion of the row and of its bytes: the bytes go', async () => {
    const key = await attach();
    const [{ id } = { id: '' }] = await database.db
      .select()
      .from(attachments)
      .where(eq(attachments.storage_key, key));
    await transaction(database, async (tx) =>
      deleteAttachment(tx, actors.system, (await findAttachment(tx, id))!),
    );
    expect(await row(key)).toMatchObject({ doomed_at: expect.any(Date) });
    await later(key, 6);
    await sweep();
    expect([await storage.exists(key), await row(key)]).toEqual([false, undefined]);
  });

  it('between the claim of a sweep and its deletions: the next sweep claims again', async () => {
    const key = newKey();
    await reserveStorageKeys(database.db, [key]);
    await write(key);
    await later(key, 61);
    await transaction(database, (tx) => claimOrphans(tx, 1000));
    await sweep();
    expect(await storage.exists(key)).toBe(true);
    await later(key, 6);
    await sweep();
    expect([await storage.exists(key), await row(key)]).toEqual([false, undefined]);
  });
});

describe('rows that go by cascades', () => {
  it('an issue or a company is purged: the bytes of its attachments and logo go', async () => {
    const key = await attach();
    await database.db.delete(schema.issues).where(eq(schema.issues.id, issue.id));
    const logo = newKey();
    await write(logo);
    await database.db.insert(schema.assets).values({
      company_id: issue.company_id,
      filename: 'l',
      content_type: 'image/png',
      size_bytes: 5,
      storage_key: logo,
    });
    await database.db.delete(schema.companies).where(eq(schema.companies.id, issue.company_id));
    for (const each of [key, logo]) await later(each, 6);
    await sweep();
    expect([await storage.exists(key), await storage.exists(logo)]).toEqual([false, false]);
  });
});

describe('a key', () => {
  it('that was claimed can’t be kept any more: the upload is refused', async () => {
    const key = newKey();
    await reserveStorageKeys(database.db, [key]);
    expect(await transaction(database, (tx) => claimUnusedKeys(tx, [key]))).toEqual([key]);
    const late = transaction(database, (tx) => keepStorageKeys(tx, [key]));
    await expect(late).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('that was kept can’t be claimed', async () => {
    const key = await attach();
    expect(await transaction(database, (tx) => claimUnusedKeys(tx, [key]))).toEqual([]);
  });

  it('kept and claimed at once: one of both, never both', async () => {
    const keys = Array.from({ length: 20 }, newKey);
    await reserveStorageKeys(database.db, keys);
    const outcomes = await Promise.all(
      keys.map(async (key) =>
        Promise.all([
          transaction(database, (tx) => keepStorageKeys(tx, [key])).then(
            () => 1,
            () => 0,
          ),
          transaction(database, (tx) => claimUnusedKeys(tx, [key])).then(({ length }) => length),
        ]),
      ),
    );
    for (const [kept, claimed] of outcomes) expect(kept + claimed).toBe(1);
  });

  it('the store is away: the sweep fails, and the next one goes on', async () => {
    const key = newKey();
    await reserveStorageKeys(database.db, [key]);
    await write(key);
    await later(key, 61);
    const away = new LocalStorage(folder);
    away.delete = async () => Promise.reject(new Error('away'));
    await expect(sweepStorage(database, away, new AbortController().signal)).rejects.toThrow('away');
    await later(key, 6);
    await sweep();
    expect(await storage.exists(key)).toBe(false);
  });
});
